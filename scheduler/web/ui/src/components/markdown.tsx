import { Fragment, useMemo, type ReactNode } from "react";
import { Link } from "wouter";
import "./markdown.css";

/**
 * Markdown shows the part of Markdown that the guides are written in: headings, paragraphs, lists, tables, code, links.
 * Links to other guides ("flows.md") stay within the page. HTML is shown as text, but for the <br> of cells.
 */
export function Markdown({ text, link }: { text: string; link: (topic: string) => string }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return <div className="markdown">{blocks.map((block, i) => <Fragment key={i}>{renderBlock(block, link)}</Fragment>)}</div>;
}

type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; items: string[] }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "paragraph"; text: string };

/** Splits a text into blocks, for example "# A\n\nb" into a heading and a paragraph. */
export function splitBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const heading = /^(#{1,4}) (.*)$/.exec(line);
    const item = /^(-|\d+\.) (.*)$/.exec(line);
    if (line.startsWith("```")) {
      const end = lines.indexOf("```", i + 1);
      const until = end < 0 ? lines.length : end;
      blocks.push({ kind: "code", language: line.slice(3), text: lines.slice(i + 1, until).join("\n") });
      i = until;
    } else if (heading) {
      blocks.push({ kind: "heading", level: heading[1]!.length, text: heading[2]! });
    } else if (line.startsWith("|")) {
      const rows: string[][] = [];
      for (; lines[i]?.startsWith("|"); i++) rows.push(splitCells(lines[i]!));
      i--;
      blocks.push({ kind: "table", head: rows[0]!, rows: rows.slice(2) });
    } else if (item) {
      const ordered = item[1] !== "-";
      const items: string[] = [];
      for (; i < lines.length && lines[i]!.trim() !== ""; i++) {
        const next = /^(?:-|\d+\.) (.*)$/.exec(lines[i]!);
        if (next) items.push(next[1]!);
        else items[items.length - 1] += " " + lines[i]!.trim();
      }
      blocks.push({ kind: "list", ordered, items });
    } else if (line.trim() !== "") {
      const words: string[] = [];
      for (; i < lines.length && lines[i]!.trim() !== "" && !/^(```|#{1,4} |\||- |\d+\. )/.test(lines[i]!); i++) words.push(lines[i]!);
      i--;
      blocks.push({ kind: "paragraph", text: words.join(" ") });
    }
  }
  return blocks;
}

/** Splits a row of a table; \| is a bar within a cell, and so is one in code. */
function splitCells(row: string): string[] {
  const cells = row.slice(1).replace(/\|\s*$/, "").match(/(?:`[^`]*`|\\\||[^|])+|(?<=^|\|)(?=\|)/g) ?? [];
  return cells.map((cell) => cell.replaceAll("\\|", "|").trim());
}

function renderBlock(block: Block, link: (topic: string) => string): ReactNode {
  switch (block.kind) {
    case "heading": {
      const Tag = `h${block.level}` as "h1";
      return <Tag>{renderText(block.text, link)}</Tag>;
    }
    case "code":
      return <pre tabIndex={0}><code>{block.text}</code></pre>;
    case "list": {
      const Tag = block.ordered ? "ol" : "ul";
      return <Tag>{block.items.map((item, i) => <li key={i}>{renderText(item, link)}</li>)}</Tag>;
    }
    case "table":
      return (
        <div className="wide" tabIndex={0}>
          <table>
            <thead><tr>{block.head.map((cell, i) => <th key={i} scope="col">{renderText(cell, link)}</th>)}</tr></thead>
            <tbody>{block.rows.map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j}>{renderText(cell, link)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
    case "paragraph":
      return <p>{renderText(block.text, link)}</p>;
  }
}

/** Renders code, bold text, links and <br> within a line. */
function renderText(text: string, link: (topic: string) => string): ReactNode[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\)|<br>)/).map((part, i) => {
    if (part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    if (part === "<br>") return <br key={i} />;
    if (part.startsWith("**")) return <strong key={i}>{renderText(part.slice(2, -2), link)}</strong>;
    const found = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
    if (!found) return part;
    const [, label, target] = found;
    const topic = /^(?:\.\.\/)?([a-z-]+)\.md$/.exec(target!)?.[1];
    if (topic) return <Link key={i} href={link(topic)}>{label}</Link>;
    if (target!.startsWith("https://")) return <a key={i} href={target} target="_blank" rel="noreferrer">{label}</a>;
    return label;
  });
}
