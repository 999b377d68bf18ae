import { api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Ago, Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { formatCost, formatDuration } from "../format.ts";
import { useText, type Key } from "../i18n.ts";
import { useMe } from "../me.ts";

type Cell = NonNullable<Schemas["TestTableCell"]>;

/** TestResults shows what the cases of a test file gave last, variants side by side, and its earlier runs. */
export function TestResults({ file, onClose }: { file: string; onClose(): void }) {
  const t = useText();
  const found = useLoad((signal) => api.get("/api/v1/tests/results", { query: { file }, signal }), [file]);
  return (
    <Dialog title={t("tests.results_of", { file })} onClose={onClose} wide>
      {found.error && <ErrorBox error={found.error} retry={found.reload} />}
      {found.loading && <Loading />}
      {found.data && (
        <>
          <h3>{t("tests.side_by_side")}</h3>
          <SideBySide table={found.data.table} />
          <h3>{t("tests.history")}</h3>
          <History runs={found.data.history} />
        </>
      )}
    </Dialog>
  );
}

/** SideBySide has a column for each variant; below each case it shows how the answers and prompts of the variants differ. */
function SideBySide({ table }: { table: Schemas["TestTable"] }) {
  const t = useText();
  if (!table.rows.length) return <p className="hint">{t("tests.no_results")}</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t("tests.side_by_side")}>
      <table className="side-by-side">
        <thead><tr><th scope="col">{t("tests.case")}</th>{table.variants.map((v) => <th key={v} scope="col">{v || t("tests.answer")}</th>)}</tr></thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                {row.name}
                {row.differences?.map((d, i) => (
                  <details key={i}>
                    <summary>{t("tests.difference")}: {t("tests.against", { to: d.to, from: d.from })}</summary>
                    {d.answer && <pre className="block json" aria-label={t("tests.difference")} tabIndex={0}>{d.answer}</pre>}
                    {!!d.prompt?.length && <><p className="hint">{t("tests.prompt_difference")}</p><ul>{d.prompt.map((line, j) => <li key={j}>{line}</li>)}</ul></>}
                  </details>
                ))}
              </th>
              {row.cells.map((cell, i) => <td key={i}>{cell && <CellResult cell={cell} />}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CellResult({ cell }: { cell: Cell }) {
  const t = useText();
  const { currency } = useMe();
  const percent = (share: number) => Math.round(100 * share);
  const measures = [
    cell.decided > 1 && t("tests.interval", { passed: cell.passed, decided: cell.decided, low: percent(cell.low), high: percent(cell.high) }),
    cell.score !== undefined && t("tests.score", { score: cell.score.toFixed(2) }),
    !!cell.tokens && t("tests.tokens", { n: Math.round(cell.tokens) }),
    !!cell.cost && formatCost(cell.cost, currency),
    !!cell.ms && formatDuration(cell.ms),
  ];
  return (
    <div data-outcome={cell.outcome}>
      <strong>{t(`tests.${cell.outcome}` as Key)}</strong>
      {cell.answer && <div className="side-answer" tabIndex={0}>{cell.answer}</div>}
      <div className="hint">{measures.filter(Boolean).join(" · ")}</div>
    </div>
  );
}

/** History lists the earlier runs of a file, the newest first. */
function History({ runs }: { runs: Schemas["TestPast"][] }) {
  const t = useText();
  const { currency } = useMe();
  if (!runs.length) return <p className="hint">{t("tests.no_results")}</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t("tests.history")}>
      <table>
        <thead><tr><th scope="col">{t("tests.when")}</th><th scope="col">{t("tests.pass")}</th><th scope="col">{t("tests.fail")}</th><th scope="col">{t("tests.error")}</th><th scope="col">{t("tests.failed_cases")}</th></tr></thead>
        <tbody>
          {runs.map((run, i) => (
            <tr key={i}>
              <td><Ago time={run.at} /> <span className="hint">{run.mode} · {formatDuration(run.elapsed_ms)}{run.cost ? ` · ${formatCost(run.cost, currency)}` : ""}</span></td>
              <td>{run.passed}</td>
              <td>{run.failed}</td>
              <td>{run.errors}</td>
              <td>{run.failed_cases?.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
