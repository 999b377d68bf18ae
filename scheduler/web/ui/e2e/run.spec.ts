import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("a run goes on before one's eyes, and a reload in the middle loses nothing", async ({ page }) => {
  const answer = await page.request.post("/api/v1/runs", { data: { flow: "slow" } });
  const { run } = (await answer.json()) as { run: string };
  await page.goto(`/runs/${run}`);
  const node = (id: string) => page.locator(`[data-node="${id}"]`);
  await expect(node("s1")).toHaveClass(/state-finished/);
  await page.reload();
  await expect(node("s0")).toHaveClass(/state-finished/);
  await expect(node("s7")).toHaveClass(/state-finished/);
  await expect(page.locator(".run-head")).toContainText("finished");
  const events = (await (await page.request.get(`/api/v1/runs/${run}`)).json()) as { last_seq: number };
  await expect(page.getByText(`${events.last_seq} events`)).toBeVisible();
});

test("graph, table and timeline show the same steps; the log has filters", async ({ page }) => {
  const run = await startRun(page, "failing");
  await page.goto(`/runs/${run}`);
  await expect(page.locator("[data-node]")).toHaveCount(6);
  await expect(page.locator('[data-node="each"]')).toContainText("3/3");
  await expect(page.locator('[data-node="some"]')).toHaveClass(/state-survived/);
  await page.getByRole("tab", { name: "Table" }).click();
  await expect(page.getByRole("row").filter({ hasText: "flaky" })).toContainText("2");
  await expect(page.getByRole("row").filter({ hasText: "never" })).toContainText("skipped");
  await expect(page.getByRole("row").filter({ has: page.getByRole("button", { name: "some", exact: true }) })).toContainText("failed, went on");
  await page.getByRole("button", { name: "bad", exact: true }).first().click();
  await expect(page.getByRole("region", { name: "Step bad" })).toContainText("failed");
  await page.getByRole("tab", { name: "Timeline" }).click();
  await expect(page.getByRole("row").filter({ hasText: "bad" })).toContainText("ran");
  // The log opens on steps: a line for each, and none for what is between its start and its end.
  await expect(page.locator(".log-line").filter({ hasText: "step.finished" }).first()).toBeVisible();
  await expect(page.locator(".log-line").filter({ hasText: /step\.(ready|input|started)/ })).toHaveCount(0);
  await page.getByLabel("Show").selectOption("all");
  await expect(page.locator(".log-line").filter({ hasText: /step\.(ready|input|started)/ }).first()).toBeVisible();
  await page.getByLabel("Show").selectOption("failed");
  await expect(page.locator(".log-line").filter({ hasText: "step.started" })).toHaveCount(0);
  await expect(page.locator(".log-line").filter({ hasText: "step.retrying" })).toHaveCount(1);
  await page.reload();
  await expect(page.getByRole("tab", { name: "Timeline" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("region", { name: "Step bad" })).toBeVisible();
});

test("the graph fits its space at opening", async ({ page }) => {
  const run = await startRun(page, "failing");
  await page.setViewportSize({ width: 1360, height: 700 });
  await page.goto(`/runs/${run}`);
  await expect(page.locator("[data-node]")).toHaveCount(6);
  const isWhole = () => page.locator(".graph-box").evaluate((box) => box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1);
  expect(await isWhole()).toBe(true);
  for (let i = 0; i < 6; i++) await page.getByRole("button", { name: "Larger" }).click();
  expect(await isWhole()).toBe(false);
  await page.getByRole("button", { name: "Fit" }).click();
  await expect.poll(isWhole).toBe(true);
});

test("a flow that a step runs is a graph of its own", async ({ page }) => {
  const run = await startRun(page, "outer");
  await page.goto(`/runs/${run}`);
  const graph = page.getByRole("group", { name: "Graph" });
  await expect(graph).toHaveAttribute("data-nodes", "2");
  await page.locator('[data-node="once"]').focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Open inner" }).click();
  await expect(page.locator('[data-node="once/say"]')).toHaveClass(/state-finished/);
  await page.locator('[data-node="once/repeat"]').click();
  await expect(page.getByRole("region", { name: "Step once/repeat" })).toContainText("one again");

  const trail = page.getByRole("navigation", { name: "Flows around" });
  await trail.getByRole("button", { name: "outer" }).click();
  await page.locator('[data-node="many"]').dblclick();
  await expect(page.locator('[data-node="many[0]/say"]')).toHaveClass(/state-finished/);
  await trail.getByLabel("Item of many").selectOption("many[1]");
  await expect(page.locator('[data-node="many[1]/say"]')).toHaveClass(/state-finished/);
  await expectAccessible(page);

  await page.goto(`/runs/${run}?step=once/say`);
  await expect(page.locator('[data-node="once/say"]')).toHaveAttribute("data-selected", "true");
  await page.goto("/flows/outer");
  await page.locator('[data-node="many"]').dblclick();
  await expect(page.locator('[data-node="many/say"]')).toBeVisible();
});

test("a run that is over can be run again with its inputs", async ({ page }) => {
  const answer = await page.request.post("/api/v1/runs", { data: { flow: "order", inputs: { note: "no onions" }, session: "kitchen" } });
  const { run } = (await answer.json()) as { run: string };
  await page.request.post(`/api/v1/runs/${run}/cancel`);
  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await expect(page.getByLabel("note")).toHaveValue("no onions");
  await expect(page.getByLabel("Session")).toHaveValue("kitchen");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page).not.toHaveURL(new RegExp(run));
});

test("a run can be cancelled, and goes on with an edited flow", async ({ page }) => {
  const answer = await page.request.post("/api/v1/runs", { data: { flow: "held" } });
  const { run } = (await answer.json()) as { run: string };
  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.locator(".run-head")).toContainText("cancelled");
  await page.getByRole("button", { name: "Resume with edited flow" }).click();
  const text = page.getByLabel("Text of the flow");
  await expect(text).toHaveValue(/name: held/);
  const flow = await text.inputValue();
  await text.fill(flow.replace("call: http", "call: htpt"));
  await page.getByRole("button", { name: "Resume", exact: true }).last().click();
  await expect(page.getByRole("alert")).toContainText("htpt");
  await text.fill(flow.replace("/hold", "/slow").split("\n").slice(0, 8).join("\n") + "\n");
  await page.getByRole("button", { name: "Resume", exact: true }).last().click();
  await expect(page.locator(".run-head")).toContainText("finished");
  await expect(page.locator("[data-node]")).toHaveCount(6);
});

for (const flow of ["wide", "long"]) {
  test(`a run of a thousand steps is usable: ${flow}`, async ({ page }) => {
    const run = await startRun(page, flow);
    const begin = Date.now();
    await page.goto(`/runs/${run}`);
    await expect(page.locator("[data-node]")).toHaveCount(1000);
    await expect(page.locator('[data-node="s999"]')).toHaveClass(/state-finished/);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    console.log(`${flow}: 1,000 steps usable after ${Date.now() - begin} ms, ${elements} elements`);
    expect(elements).toBeLessThan(9000);
    await page.getByRole("tab", { name: "Table" }).click();
    await expect(page.locator("[data-rows='1000']")).toBeVisible();
    expect(await page.locator(".row").count()).toBeLessThan(100);
    await page.getByRole("button", { name: "s3", exact: true }).first().click();
    await expect(page.getByRole("region", { name: "Step s3" })).toContainText("x");
  });
}

test("a thousand steps that run are followed in time", async ({ page }) => {
  await page.goto("/runs");
  const { run } = (await (await page.request.post("/api/v1/runs", { data: { flow: "wide" } })).json()) as { run: string };
  await page.evaluate(() => {
    const tasks: number[] = ((window as unknown as { tasks: number[] }).tasks = []);
    new PerformanceObserver((list) => list.getEntries().forEach((e) => tasks.push(e.duration))).observe({ type: "longtask" });
  });
  await page.evaluate((path) => {
    history.pushState(null, "", path);
  }, `/runs/${run}`);
  await expect(page.locator("[data-node].state-finished")).toHaveCount(1000);
  const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
  const all = tasks.reduce((n, ms) => n + ms, 0);
  console.log(`1,000 steps followed live: ${tasks.length} tasks above 50 ms, the longest ${Math.round(Math.max(0, ...tasks))} ms, together ${Math.round(all)} ms`);
  const { last_seq: seq } = (await (await page.request.get(`/api/v1/runs/${run}`)).json()) as { last_seq: number };
  await expect(page.getByText(`${seq.toLocaleString("en")} events`)).toBeVisible();
});

test("a hundred updates at once are drawn a few times", async ({ page }) => {
  const run = await startRun(page, "wide");
  const all = (await (await page.request.get(`/api/v1/runs/${run}/events?view=state&limit=200`)).json()) as { items: { seq: number; type: string }[] };
  // The stream of the run is the test's own: each event comes as a packet of its own.
  await page.addInitScript(() => {
    const real = window.fetch;
    window.fetch = (input, init) => {
      if (!String(input).includes("/events?view=state")) return real(input, init);
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          (window as unknown as { send(e: { seq: number; type: string }): void }).send = (e) =>
            stream.enqueue(new TextEncoder().encode(`id: ${e.seq}\nevent: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`));
        },
      });
      return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
    };
  });
  await page.goto(`/runs/${run}`);
  await expect(page.locator("[data-node]")).toHaveCount(1000);
  await expect.poll(() => page.evaluate(() => "send" in window)).toBe(true);
  const drawn = await page.evaluate(async (events) => {
    const { send } = window as unknown as { send(e: unknown): void };
    const begun = performance.now();
    const counted = new Promise<{ renders: number; frames: number; took: number }>((done) => {
      let renders = 0;
      let frames = 0;
      const countFrame = () => (frames++, requestAnimationFrame(countFrame));
      requestAnimationFrame(countFrame);
      const observer = new MutationObserver(() => {
        const count = [...document.querySelectorAll(".hint")].map((one) => /^(\d+) events?$/.exec(one.textContent ?? "")?.[1]).find(Boolean);
        if (count !== shown) (shown = count), renders++;
        if (count === "100") done({ renders, frames, took: performance.now() - begun });
      });
      let shown: string | undefined;
      observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const channel = new MessageChannel();
    let next = 0;
    channel.port1.onmessage = () => {
      send(events[next++]);
      if (next < events.length) channel.port2.postMessage(null);
    };
    channel.port2.postMessage(null);
    return counted;
  }, all.items.slice(0, 100));
  console.log(`100 updates were drawn ${drawn.renders} times in ${drawn.frames} frames, the last after ${Math.round(drawn.took)} ms`);
  expect(drawn.renders).toBeLessThanOrEqual(drawn.frames + 1); // however busy the machine is: once for each frame
});

test("the timeline shows how long a step waits, folded", async ({ page }) => {
  const run = await startRun(page, "weather");
  await page.goto(`/runs/${run}?view=timeline`);
  await expect(page.locator(".bar-wait").first()).toBeVisible();
  await expect(page.locator(".axis .fold")).toContainText("‖");
});

test("the items of a step can be opened", async ({ page }) => {
  const run = await startRun(page, "failing");
  await page.goto(`/runs/${run}?step=each`);
  await page.getByText("Items: 3 of 3 are over").click();
  await page.getByRole("button", { name: "[1] finished" }).click();
  await expect(page.getByRole("region", { name: "Step each[1]" })).toContainText("2");
  await page.getByRole("button", { name: "item of each" }).click();
  await expect(page.getByRole("region", { name: "Step each", exact: true })).toBeVisible();
});

for (const look of looks) {
  test(`a run in ${look.language}, ${look.theme}`, async ({ page }) => {
    const run = await startRun(page, "failing");
    await setLook(page, look);
    for (const view of ["graph", "table", "timeline"]) {
      await page.goto(`/runs/${run}?view=${view}&step=flaky`);
      await expect(page.locator(view === "graph" ? "[data-node]" : ".row").nth(3)).toBeVisible();
      await expect(page.locator(".log-line").first()).toBeVisible();
      await expectAccessible(page);
      await keepScreen(page, `run-${view}`, look);
    }
  });
}
