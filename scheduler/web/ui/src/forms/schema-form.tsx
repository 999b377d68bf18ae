import Form from "@rjsf/core/lib/components/Form.js"; // the whole package needs ajv, which the policy refuses
import {
  TranslatableString, englishStringTranslator,
  type ErrorSchema, type FieldProps, type FieldTemplateProps, type IconButtonProps, type RJSFSchema, type RJSFValidationError, type UiSchema,
} from "@rjsf/utils";
import { useId, useMemo, useState, type ReactNode, type Ref } from "react";
import { formatJSON } from "../format.ts";
import { translate, useLanguage, type Key } from "../i18n.ts";
import { validator } from "./validator.ts";
import { labelOf, nameOf } from "./why.tsx";
import "./form.css";

export type Values = Record<string, unknown>;
export type Faults = ErrorSchema<Values>;

/** FormHandle checks a form from outside: it shows what is wrong, and reports whether nothing is. */
export interface FormHandle {
  validateForm(): boolean;
}

/**
 * SchemaForm is a form made from a JSON Schema. Faults that the server found are shown at
 * their fields. What a schema leaves open is typed as JSON.
 */
export function SchemaForm({ schema, values, onChange, onSubmit, faults, explained, disabled, name, children, ref }: {
  schema: unknown;
  values: Values;
  onChange(values: Values): void;
  onSubmit(values: Values): void;
  faults?: Faults;
  /** Says at each field what a value of it looks like: its example and unit. */
  explained?: boolean;
  disabled?: boolean;
  /** Tells the ids of this form's fields from those of others. */
  name: string;
  children?: ReactNode;
  ref?: Ref<FormHandle>;
}) {
  const language = useLanguage();
  const titled = useMemo(() => addTitles(schema as RJSFSchema, explained), [schema, explained, language]);
  const ui = useMemo(() => ({ ...uiOf(titled), "ui:submitButtonOptions": { norender: true }, "ui:title": "", "ui:description": "" }), [titled]);
  return (
    <Form
      ref={ref as never} className="schema-form" schema={titled} uiSchema={ui} formData={values} validator={validator as never} disabled={disabled}
      idPrefix={name} noHtml5Validate showErrorList={false} focusOnFirstError extraErrors={faults} liveOmit={false}
      experimental_defaultFormStateBehavior={{ emptyObjectFields: "skipEmptyDefaults" }}
      transformErrors={translateErrors} translateString={translateWord} templates={templates}
      onChange={(e) => onChange((e.formData ?? {}) as Values)} onError={() => {}} onSubmit={(e) => onSubmit((e.formData ?? {}) as Values)}
    >
      {children ?? <></>}
    </Form>
  );
}

/** Returns a schema whose properties have titles; names are JSON pointers where a run waits. explained adds examples and units. */
function addTitles(schema: RJSFSchema, explained?: boolean): RJSFSchema {
  if (!schema.properties) return schema;
  const properties = Object.entries(schema.properties).map(([name, one]) => {
    if (typeof one === "boolean") return [name, one] as const;
    const titled = { title: explained ? labelOf(name) : nameOf(name), ...addTitles(one as RJSFSchema, explained) };
    return [name, explained ? { ...titled, description: explanationOf(titled) } : titled] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Returns what is said at a field: its description, an example, its unit. */
function explanationOf(schema: RJSFSchema): string | undefined {
  const { unit, "x-unit": xUnit } = schema as { unit?: unknown; "x-unit"?: unknown };
  const example = (schema.examples as unknown[] | undefined)?.find((one) => typeof one === "string" || typeof one === "number");
  const lines = [schema.description];
  if (example !== undefined && !schema.enum) lines.push(translate("form.example", { example: String(example) }));
  if (typeof (unit ?? xUnit) === "string") lines.push(translate("form.unit", { unit: String(unit ?? xUnit) }));
  return lines.filter(Boolean).join("\n") || undefined;
}

/** Returns the way in which the fields of a schema are shown; undefined for the usual one. */
function uiOf(schema: RJSFSchema | boolean | undefined): UiSchema | undefined {
  if (typeof schema !== "object" || isOpen(schema)) return { "ui:field": JSONField };
  if (schema.writeOnly || schema.format === "password") return { "ui:widget": "password", "ui:options": { autocomplete: "off" } };
  if (schema.type === "string" && !schema.enum && !schema.format && ((schema.maxLength ?? 0) > 200 || String(schema.default ?? "").length > 60)) return { "ui:widget": "textarea" };
  if (schema.type === "array" && typeof schema.items === "object" && !Array.isArray(schema.items)) {
    const items = uiOf(schema.items as RJSFSchema);
    return items && { items };
  }
  const ui: UiSchema = {};
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    const found = uiOf(one as RJSFSchema);
    if (found) ui[name] = found;
  }
  return Object.keys(ui).length ? ui : undefined;
}

/** Reports whether a schema does not tell which fields a value has. */
function isOpen(schema: RJSFSchema): boolean {
  if (schema.enum || schema.$ref || schema.anyOf || schema.oneOf || schema.allOf || "const" in schema) return false;
  if (schema.type === "object") return !Object.keys(schema.properties ?? {}).length;
  if (schema.type === "array") return typeof schema.items !== "object" || Array.isArray(schema.items) || isOpen(schema.items as RJSFSchema);
  return schema.type === undefined;
}

/** JSONField is a value typed as JSON; a text that is no JSON stands for itself. */
function JSONField({ formData, onChange, fieldPathId, disabled, schema, required, rawErrors }: FieldProps) {
  const [text, setText] = useState(() => (formData === undefined ? "" : formatJSON(formData)));
  const change = (next: string) => {
    setText(next);
    onChange(parseJSON(next), fieldPathId.path);
  };
  return (
    <>
      {schema.description && <p className="field-description">{schema.description}</p>}
      <textarea
        id={fieldPathId.$id} className="mono" rows={Math.min(12, Math.max(3, text.split("\n").length))} spellCheck={false} value={text} disabled={disabled}
        required={required} aria-invalid={!!rawErrors?.length} aria-label={schema.title} placeholder="{}" onChange={(e) => change(e.target.value)}
      />
    </>
  );
}

function parseJSON(text: string): unknown {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** A field with its label, description, errors. */
function FieldTemplate({ id, label, required, hidden, displayLabel, description, children, rawErrors, rawHelp, schema, uiSchema }: FieldTemplateProps) {
  if (hidden) return <div hidden>{children}</div>;
  const isCheckbox = schema.type === "boolean" && uiSchema?.["ui:widget"] === undefined;
  const isJSON = uiSchema?.["ui:field"] === JSONField;
  return (
    <div className="field" data-invalid={!!rawErrors?.length || undefined}>
      {((displayLabel && !isCheckbox) || isJSON) && label && (
        <label htmlFor={id}>{label}{required && <span className="required"> {translate("form.required")}</span>}{isJSON && <span className="hint"> JSON</span>}</label>
      )}
      {displayLabel && !isCheckbox && description}
      {children}
      {rawHelp && <p id={`${id}__help`} className="field-description">{rawHelp}</p>}
      {!!rawErrors?.length && <div id={`${id}__error`} className="field-errors" role="alert">{rawErrors.map((one, i) => <p key={i}>{one}</p>)}</div>}
    </div>
  );
}

const Description = ({ id, description }: { id: string; description?: ReactNode }) => (description ? <p id={id} className="field-description">{description}</p> : null);

const iconButton = (sign: string, text: Key) =>
  function IconButton({ id, disabled, onClick }: IconButtonProps) {
    return <button type="button" id={id} disabled={disabled} onClick={onClick} aria-label={translate(text)} title={translate(text)}>{sign}</button>;
  };

const templates = {
  FieldTemplate,
  DescriptionFieldTemplate: Description as never,
  ButtonTemplates: {
    AddButton: iconButton("＋", "form.add"), RemoveButton: iconButton("✕", "form.remove"), CopyButton: iconButton("⧉", "form.copy"),
    MoveUpButton: iconButton("↑", "form.up"), MoveDownButton: iconButton("↓", "form.down"), ClearButton: iconButton("✕", "form.remove"),
  },
} as never;

const words: Partial<Record<TranslatableString, Key>> = {
  [TranslatableString.YesLabel]: "form.yes", [TranslatableString.NoLabel]: "form.no", [TranslatableString.NewStringDefault]: "form.value",
  [TranslatableString.KeyLabel]: "form.key", [TranslatableString.OptionPrefix]: "form.option", [TranslatableString.TitleOptionPrefix]: "form.option_of",
};

function translateWord(text: TranslatableString, params?: string[]): string {
  const key = words[text];
  return key ? translate(key, { name: params?.[0] ?? "", n: params?.[1] ?? params?.[0] ?? "" }) : englishStringTranslator(text, params);
}

const known = new Set(["required", "type", "minLength", "maxLength", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems", "multipleOf", "minProperties", "maxProperties", "not"]);

function translateErrors(errors: RJSFValidationError[]): RJSFValidationError[] {
  return errors.map((e) => ({ ...e, message: known.has(e.name ?? "") ? translate(`form.error_${e.name}` as Key) : translate("form.error_other") }));
}

/** Returns a name for a form that no other has. */
export const useFormName = () => useId().replaceAll(/\W/g, "");
