#!/usr/bin/env node
// Plain JavaScript that every Node with modules can read: an old one gets a sentence instead of a syntax error.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  process.stderr.write(`throughline: Node 24 needed, this is ${process.versions.node}\n`);
  process.exit(1);
}
void import("../dist/src/cli/main.js");
