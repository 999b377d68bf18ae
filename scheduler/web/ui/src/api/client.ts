import { currentLanguage } from "../i18n.ts";
import type { components, paths } from "./types.ts";

export type Schemas = components["schemas"];
export type ProblemDocument = Schemas["Problem"];

type Method = "get" | "post" | "put" | "delete";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type PathsOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never }[keyof paths];
type JSONOf<R> = R extends { content: { "application/json": infer T } } ? T : never;
type ResultOf<O> = O extends { responses: infer R } ? { [S in keyof R]: S extends 200 | 201 | 202 ? JSONOf<R[S]> : never }[keyof R] : never;
type BodyOf<O> = O extends { requestBody?: infer B } ? JSONOf<NonNullable<B>> : never;

/** What a request takes beside its path: variables of the path, the query, a JSON body. */
export interface Options<O> {
  path?: O extends { parameters: { path: infer P } } ? P : undefined;
  query?: O extends { parameters: { query?: infer Q } } ? Q : undefined;
  body?: BodyOf<O>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** ApiError is an answer of the server that is not a success. */
export class ApiError extends Error {
  readonly problem: ProblemDocument;
  constructor(problem: ProblemDocument) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** unauthorized tells who listens that the session is over. */
export const unauthorized = new EventTarget();

const base = "/api/v1";

/** Returns the URL of an endpoint, with its variables filled in. */
export function urlOf(path: string, variables: Record<string, unknown> = {}, query: Record<string, unknown> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(variables[name]).split("/").map(encodeURIComponent).join("/"));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== null) search.set(name, String(value));
  }
  return search.size ? `${filled}?${search}` : filled;
}

/** Fetches a URL; the server answers in the language that the page shows. */
export function fetchInLanguage(url: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
  return fetch(url, { ...init, headers: { "Accept-Language": currentLanguage(), ...init.headers } });
}

/** Sends a request and returns the answer; the promise fails with an ApiError for a problem. */
export async function send(method: string, url: string, options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] ??= "application/json";
  const response = await fetchInLanguage(url, {
    method, headers, signal: options.signal,
    body: options.body === undefined || typeof options.body === "string" ? (options.body as string | undefined) : JSON.stringify(options.body),
  });
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Returns the error of an answer that is not a success. */
export async function errorOf(response: Response): Promise<ApiError> {
  if (response.status === 401) unauthorized.dispatchEvent(new Event("unauthorized"));
  const text = await response.text();
  try {
    return new ApiError(JSON.parse(text) as ProblemDocument);
  } catch {
    return new ApiError({ type: "about:blank", kind: "internal", title: response.statusText, status: response.status, detail: text.slice(0, 500) });
  }
}

async function request<P extends keyof paths, M extends Method>(method: M, path: P, options: Options<Operation<P, M>> = {}): Promise<ResultOf<Operation<P, M>>> {
  const url = urlOf(path as string, options.path as Record<string, unknown>, options.query as Record<string, unknown>);
  const response = await send(method.toUpperCase(), url, options);
  if (response.status === 204) return undefined as never;
  return (await response.json()) as ResultOf<Operation<P, M>>;
}

/** The typed client: api.get("/api/v1/runs/{id}", {path: {id}}). */
export const api = {
  get: <P extends PathsOf<"get">>(path: P, options?: Options<Operation<P, "get">>) => request("get", path, options),
  post: <P extends PathsOf<"post">>(path: P, options?: Options<Operation<P, "post">>) => request("post", path, options),
  put: <P extends PathsOf<"put">>(path: P, options?: Options<Operation<P, "put">>) => request("put", path, options),
  delete: <P extends PathsOf<"delete">>(path: P, options?: Options<Operation<P, "delete">>) => request("delete", path, options),
  base,
};
