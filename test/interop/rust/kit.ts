import type { ForeignKit } from "../foreign-kit.ts";

export const rust: ForeignKit = {
  name: "rust",
  title: "Rust",
  needs: [{ program: "cargo", install: "https://rustup.rs" }],
  build: () => Promise.resolve(),
  servers: () => [],
  clients: () => [],
};
