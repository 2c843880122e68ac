/** Where acceptance records are kept. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Option } from "commander";

/** The flag `--records`. */
export function recordsOption(): Option {
  return new Option("--records <directory>", "where records are kept")
    .env("THROUGHLINE_RECORDS")
    .default(defaultDirectory(), "throughline/records in XDG_DATA_HOME or ~/.local/share")
    .argParser((text) => text || defaultDirectory());
}

/** The root for a user that the system knows nothing of, as containers have: such a one says where, or keeps no records. */
function home(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** XDG's place for a user's data; a variable that holds no absolute path counts as one that is not set. */
function defaultDirectory(): string {
  const data = process.env["XDG_DATA_HOME"] ?? "";
  return join(isAbsolute(data) ? data : join(home(), ".local", "share"), "throughline", "records");
}
