#!/usr/bin/env node
import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

// Plain JavaScript that every Node with modules can read: an old one gets a sentence instead of a syntax error.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  process.stderr.write(`throughline: Node 24 needed, this is ${process.versions.node}\n`);
  process.exit(1);
}
const built = new URL("../dist/src/cli/main.js", import.meta.url);
if (!existsSync(built)) {
  process.stderr.write("throughline: not built yet: run npm run build first\n");
  process.exit(1);
}
// What V8 takes for short-lived objects while modules are loaded it would never give back; `serve` lets it grow when it serves.
setFlagsFromString("--semi-space-growth-factor=1");
void import(built.href);
