import type { LayoutRequest } from "./graph.tsx";
import { placeGraph } from "./place.ts";

// The layout of a large graph takes a second; the page stays usable meanwhile.
self.onmessage = (message: MessageEvent<LayoutRequest>) => self.postMessage(placeGraph(message.data));
