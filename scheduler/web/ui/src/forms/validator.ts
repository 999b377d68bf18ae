import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import {
  createErrorHandler, toErrorSchema, unwrapErrorHandler, validationDataMerge,
  type CustomValidator, type ErrorTransformer, type RJSFSchema, type RJSFValidationError, type UiSchema, type ValidationData, type ValidatorType,
} from "@rjsf/utils";
import { checkedHere } from "./patterns.ts";

// The usual validator of the form library compiles schemas with eval, which the policy of
// the page refuses; this one interprets them.

/** Keywords whose own message only says that something below them is wrong. */
const frames = new Set(["properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "then", "else", "prefixItems"]);

/** Returns the errors of a value, each at its place. */
function errorsOf(schema: RJSFSchema, data: unknown): RJSFValidationError[] {
  const { errors } = new Validator(checkedHere(schema) as Schema, "2020-12", false).validate(data ?? null);
  const leaves = errors.filter((e) => !frames.has(e.keyword) || !errors.some((other) => other !== e && other.instanceLocation.startsWith(e.instanceLocation)));
  return leaves.map(errorOf);
}

function errorOf(unit: OutputUnit): RJSFValidationError {
  const path = unit.instanceLocation.replace(/^#/, "").split("/").slice(1).map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  const missing = unit.keyword === "required" ? /"([^]+)"/.exec(unit.error)?.[1] : undefined;
  if (missing !== undefined) path.push(missing);
  return { name: unit.keyword, message: unit.error, params: {}, property: "." + path.map(pathPart).join("."), stack: unit.error, schemaPath: unit.keywordLocation };
}

/** A part of a path as lodash reads it: names with dots in brackets. */
const pathPart = (part: string) => (/[.[\]"]/.test(part) ? `["${part}"]` : part);

export const validator: ValidatorType = {
  validateFormData(data, schema, customValidate?: CustomValidator, transformErrors?: ErrorTransformer, uiSchema?: UiSchema): ValidationData<unknown> {
    let errors = errorsOf(schema, data);
    if (transformErrors) errors = transformErrors(errors, uiSchema);
    const found = { errors, errorSchema: toErrorSchema(errors) };
    if (!customValidate) return found;
    const handler = customValidate(data, createErrorHandler(data), uiSchema);
    return validationDataMerge(found, unwrapErrorHandler(handler));
  },
  isValid(schema, data, root) {
    try {
      return new Validator(checkedHere({ ...root, ...schema }) as Schema, "2020-12", true).validate(data ?? null).valid;
    } catch {
      return false; // the schema itself is wrong
    }
  },
  rawValidation(schema, data) {
    return { errors: errorsOf(schema, data) as never[] };
  },
};
