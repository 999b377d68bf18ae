import { useEffect, useRef } from "react";
import "./source-lines.css";

/** SourceLines shows a text with the numbers of its lines, and one of them in sight. */
export function SourceLines({ text, line }: { text: string; line?: number }) {
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => {
    marked.current?.scrollIntoView({ block: "center" });
  }, [text, line]);
  return (
    <ol className="source" tabIndex={0}>
      {text.replace(/\n$/, "").split("\n").map((one, i) => (
        <li key={i} ref={i + 1 === line ? marked : undefined} aria-current={i + 1 === line ? "location" : undefined}>
          <code>{one || " "}</code>
        </li>
      ))}
    </ol>
  );
}
