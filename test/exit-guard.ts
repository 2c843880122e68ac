/**
 * Loaded into the process of every test file: a file whose tests have ended and that does not exit has left something open (a client
 * that reconnects for ever, say). It is told of and ended, as the run would wait for it without end.
 */
import { after } from "node:test";

const EXIT_MS = 20_000;

after(() => {
  setTimeout(() => {
    process.stderr.write(
      `The tests have ended, and ${EXIT_MS} ms later these are still open: ${process.getActiveResourcesInfo().join(", ")}\n`,
    );
    process.exit(1);
  }, EXIT_MS).unref();
});
