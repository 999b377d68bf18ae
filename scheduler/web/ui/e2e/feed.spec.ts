import { expect, startRun, test } from "./fixtures.ts";

/** A gate that is closed until open is called. */
function newGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

for (const [name, path, link] of [
  ["the list of runs", "/runs?q=late", "/runs/"],
  ["the inbox", "/inbox", "/inbox/"],
  ["the runs of a flow", "/flows/order?tab=history", "/runs/"],
] as const) {
  test(`${name} has what changed between its loading and the opening of the stream of changes`, async ({ page }) => {
    const gate = newGate();
    await page.route("**/api/v1/events", async (route) => {
      await gate.opened;
      await route.continue();
    });
    const isList = /api\/v1\/(runs\?|waiting$)/;
    const listed = page.waitForResponse((answer) => isList.test(answer.url()));
    await page.goto(path);
    await (await listed).finished();
    const answer = await page.request.post("/api/v1/runs?wait=30s", { data: { flow: "order", labels: { late: "late" } } });
    const { run } = (await answer.json()) as { run: string };
    await expect(page.locator(`a[href="${link}${run}"]`)).toHaveCount(0);
    gate.open();
    await expect(page.locator(`a[href="${link}${run}"]`)).toBeVisible();
    await page.request.post(`/api/v1/runs/${run}/cancel`);
  });
}

test("a stream that broke off before any change goes on without a gap", async ({ page }) => {
  const seen: (string | null)[] = [];
  const gate = newGate();
  await page.route("**/api/v1/events", async (route) => {
    seen.push(await route.request().headerValue("last-event-id"));
    if (seen.length === 1) return route.fulfill({ status: 200, headers: { "content-type": "text/event-stream" }, body: "retry: 2000\nid: earlier.1\n\n" });
    await gate.opened;
    await route.continue();
  });
  await page.goto("/runs");
  await expect.poll(() => seen).toEqual([null, "earlier.1"]);
  gate.open();
  await expect(page.getByRole("status").filter({ hasText: "live" })).toBeVisible();
});

test("changes that come faster than a list is loaded do not keep it from coming, and few requests are made", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.addInitScript((id) => {
    const real = window.fetch;
    window.fetch = (input, init) => {
      if (!String(input).endsWith("/api/v1/events")) return real(input, init);
      const item = JSON.stringify({ run: id, flow: "order", state: "running", last_seq: 1 });
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => void setInterval(() => stream.enqueue(new TextEncoder().encode(`id: 1.1\nevent: run\ndata: ${item}\n\n`)), 10),
      });
      return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
    };
  }, run);
  let asked = 0;
  await page.route("**/api/v1/waiting*", async (route) => {
    asked++;
    await new Promise((resolve) => setTimeout(resolve, 300));
    await route.continue();
  });
  await page.goto("/inbox");
  await expect(page.locator(`a[href="/inbox/${run}"]`)).toBeVisible();
  expect(asked).toBeLessThan(20);
  await page.request.post(`/api/v1/runs/${run}/cancel`);
});

test("an EventSource resumes by its id after a break, and stops for good after the end of a run", async ({ page }) => {
  const { run } = (await (await page.request.post("/api/v1/runs", { data: { flow: "slow" } })).json()) as { run: string };
  await page.goto("/runs");
  let streams = 0;
  await page.route(`**/api/v1/runs/${run}/events`, async (route) => {
    if (++streams > 1) return route.continue();
    const some = await page.request.get(`/api/v1/runs/${run}/events?limit=3`);
    const { items } = (await some.json()) as { items: { seq: number; type: string }[] };
    // The first stream breaks off after some events.
    const body = "retry: 100\n" + items.map((e) => `id: ${e.seq}\nevent: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join("");
    await route.fulfill({ status: 200, headers: { "content-type": "text/event-stream" }, body });
  });
  const { seen, state, opened } = await page.evaluate(async (path) => {
    const types = (await (await fetch(`${path}?limit=200`)).json()) as { items: { type: string }[] };
    const names = new Set([...types.items.map((e) => e.type), "flow.started", "step.ready", "step.started", "step.input", "step.delta", "step.finished", "flow.finished"]);
    const source = new EventSource(path);
    const seen: number[] = [];
    let opened = 0;
    source.onopen = () => opened++;
    for (const name of names) source.addEventListener(name, (e) => seen.push(Number((e as MessageEvent).lastEventId)));
    await new Promise<void>((done) => {
      source.onerror = () => source.readyState === EventSource.CLOSED && done();
    });
    return { seen, state: source.readyState, opened };
  }, `/api/v1/runs/${run}/events`);
  const { last_seq: last } = (await (await page.request.get(`/api/v1/runs/${run}`)).json()) as { last_seq: number };
  expect(seen).toEqual(Array.from({ length: last }, (_, i) => i + 1));
  expect(state).toBe(2);
  expect(opened).toBe(2); // the one that broke, and the one that came to the end
  expect(streams).toBe(3); // the last was answered with 204
});
