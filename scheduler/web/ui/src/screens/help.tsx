import { Link, useParams } from "wouter";
import { useLoad } from "../api/load.ts";
import { ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { Markdown, splitBlocks } from "../components/markdown.tsx";
import { useLanguage, useText } from "../i18n.ts";

/** Help shows the guides, the same that scheduler help TOPIC prints. */
export default function Help() {
  const t = useText();
  const { topic = "tutorial" } = useParams<{ topic?: string }>();
  const language = useLanguage();
  const list = useLoad((signal) => readGuide("README", language, signal), [language]);
  const guide = useLoad((signal) => readGuide(topic, language, signal), [topic, language]);
  return (
    <section className="screen">
      <ScreenHead title={t("help.title")} />
      <div className="help">
        <nav aria-label={t("help.guides")}>
          <ul>
            {guidesOf(list.data ?? "").map(([name, title]) => (
              <li key={name}><Link href={`/help/${name}`} aria-current={name === topic ? "page" : undefined}>{title}</Link></li>
            ))}
          </ul>
        </nav>
        <article>
          {guide.error && <ErrorBox error={guide.error} retry={guide.reload} />}
          {!guide.error && guide.data === undefined && <Loading />}
          {guide.data !== undefined && <Markdown text={guide.data} link={(other) => `/help/${other}`} />}
        </article>
      </div>
    </section>
  );
}

async function readGuide(topic: string, language: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(`/docs/${topic}.md?language=${language}`, { signal });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.text();
}

/** The guides of the table of contents, in its order: topic and title. */
function guidesOf(contents: string): [topic: string, title: string][] {
  return splitBlocks(contents).flatMap((block) => block.kind === "list" ? block.items : []).flatMap((item) => {
    const found = /^\[([^\]]+)\]\((?:\.\.\/)?([a-z-]+)\.md\)/.exec(item);
    return found ? [[found[2]!, found[1]!] as [string, string]] : [];
  });
}
