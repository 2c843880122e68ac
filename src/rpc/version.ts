/** Protocol version of a call (R-191 to R-198, C-11, C-12). */
import { connectError } from "./errors.ts";

/** The one version spoken here. */
export const PROTOCOL_VERSION = "1.0";

/** Header, and query parameter where there are queries. */
export const VERSION_HEADER = "a2a-version";

/**
 * Checks the version that a call asks for. The header wins over the query parameter; differing values are an error. Absent and empty mean
 * 0.3, unless `assumeVersion` says otherwise. A patch number is not considered.
 */
export function checkVersion(headers: Headers, url: string, assumeVersion: string | undefined): void {
  const header = headers.get(VERSION_HEADER)?.trim();
  const query = versionInQuery(url);
  if (header && query && withoutPatch(header) !== withoutPatch(query)) {
    const description = `the header says ${shown(header)}, the query says ${shown(query)}`;
    throw connectError("INVALID_ARGUMENT", `A2A-Version: ${description}`, { violations: [{ field: "A2A-Version", description }] });
  }
  const asked = header || query || assumeVersion || "";
  if (withoutPatch(asked) === PROTOCOL_VERSION) return;
  const hint = `send the header "A2A-Version: ${PROTOCOL_VERSION}"`;
  const message =
    asked === ""
      ? `a call without A2A-Version means version 0.3, which is not offered here: ${hint}`
      : `A2A version ${shown(asked)} is not offered here: ${hint}`;
  throw connectError("VERSION_NOT_SUPPORTED", message, { metadata: { supportedVersions: PROTOCOL_VERSION } });
}

function versionInQuery(url: string): string | undefined {
  const at = url.indexOf("?");
  if (at < 0) return undefined;
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) if (name.toLowerCase() === VERSION_HEADER) return value.trim();
  return undefined;
}

/** `1.0.7` as `1.0`; anything else as it is. */
function withoutPatch(version: string): string {
  return version.replace(/^(\d+\.\d+)\.\d+$/, "$1");
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 40));
}
