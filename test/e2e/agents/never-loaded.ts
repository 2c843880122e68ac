/** A module that says that it is being loaded, and never is. */
process.stderr.write("loading\n");
setInterval(() => undefined, 1000);
await new Promise(() => undefined);
