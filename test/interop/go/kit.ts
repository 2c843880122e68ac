import type { ForeignKit } from "../foreign-kit.ts";

export const go: ForeignKit = {
  name: "go",
  title: "Go",
  needs: [{ program: "go", install: "https://go.dev/doc/install" }],
  build: () => Promise.resolve(),
  servers: () => [],
  clients: () => [],
};
