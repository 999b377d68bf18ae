import { useText } from "../i18n.ts";

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
}

interface Row {
  path: string;
  depth: number;
  schema: Schema;
  required: boolean;
}

const maxDepth = 4;

/** SchemaTable shows the members of a JSON Schema as a table, those inside below theirs. */
export function SchemaTable({ schema, label }: { schema: unknown; label: string }) {
  const t = useText();
  const rows = rowsOf((schema ?? {}) as Schema);
  if (!rows.length) return <p className="hint">{t("calls.any", { type: typeOf((schema ?? {}) as Schema) })}</p>;
  return (
    <div className="table-box" role="region" aria-label={label} tabIndex={0}>
      <table className="plain">
        <thead><tr><th>{t("calls.name")}</th><th>{t("calls.type")}</th><th>{t("calls.about")}</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              <td style={{ paddingLeft: `${row.depth}rem` }}><code>{row.path.slice(row.path.lastIndexOf(".") + 1)}</code>{row.required && <span className="hint"> {t("form.required")}</span>}</td>
              <td>{typeOf(row.schema)}</td>
              <td>
                {row.schema.description}
                {row.schema.enum && <div className="hint">{row.schema.enum.map((one) => JSON.stringify(one)).join(" | ")}</div>}
                {row.schema.default !== undefined && <div className="hint">{t("calls.default")} <code>{JSON.stringify(row.schema.default)}</code></div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rowsOf(schema: Schema, prefix = "", depth = 0): Row[] {
  if (depth > maxDepth) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const path = prefix + name.replaceAll(".", "·");
    const inner = typeof one.items === "object" && one.items.properties ? one.items : one;
    return [{ path, depth, schema: one, required: !!schema.required?.includes(name) }, ...rowsOf(inner, path + ".", depth + 1)];
  });
}

function typeOf(schema: Schema): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(typeOf))].join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return typeof schema.items === "object" ? `[${typeOf(schema.items)}]` : "[any]";
  const name = Array.isArray(schema.type) ? schema.type.join(" | ") : schema.type ?? (schema.enum ? "enum" : "any");
  const range = [schema.minimum, schema.maximum].some((n) => n !== undefined) ? ` ${schema.minimum ?? ""}…${schema.maximum ?? ""}` : "";
  return name + (schema.format ? ` (${schema.format})` : "") + range;
}

/** Returns the least value that has all that a schema requires, to be filled in. */
export function skeletonOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "array") return typeof schema.items === "object" && schema.items.type === "object" ? [skeletonOf(schema.items)] : [];
  if (type === "string") return "";
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return schema.minimum ?? 0;
  if (type && type !== "object") return null;
  return Object.fromEntries((schema.required ?? []).map((name) => [name, skeletonOf(schema.properties?.[name] ?? {})]));
}
