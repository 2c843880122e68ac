/** What to try where an agent cannot be reached, or does not let its caller in. */
import type { A2AError, AgentCard, SecurityScheme } from "../client/index.ts";
import { commandLine } from "./command-line.ts";

/** What is wrong with an agent's address or its TLS, as far as the error tells. */
interface AddressHint {
  /** In place of what the failed connection said of itself; undefined where that says enough. */
  readonly why: string | undefined;
  readonly advice: string;
}

/** Judges why there is no card to be had at a URL. */
export function addressHint(thrown: unknown, { protocol, host }: URL): AddressHint | undefined {
  const causes = [...chainOf(thrown)];
  const codes = causes.map((error) => ("code" in error ? String(error.code) : ""));
  const has = (pattern: RegExp): boolean => codes.some((code) => pattern.test(code));
  if (has(/^ECONNREFUSED$/)) return { why: undefined, advice: `nothing listens there: \`${commandLine()} serve AGENT\` serves an agent` };
  if (has(/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/)) return { why: "no TLS is spoken there", advice: `try http://${host}` };
  if (has(/CERTIFICATE_REQUIRED|ALERT_HANDSHAKE_FAILURE|ALERT_BAD_CERTIFICATE|ALERT_UNKNOWN_CA/))
    return { why: "it wants another certificate of you, or one at all", advice: "give it by --cert FILE --key FILE" };
  if (has(/SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/))
    return { why: "its certificate is of an authority that is not known here", advice: "--ca FILE says which one to trust" };
  if (has(/^(UND_ERR_SOCKET|ECONNRESET)$/) && protocol === "http:")
    return { why: "it closes the connection", advice: `it may want TLS: try https://${host}` };
  // HTTP/2 alone is spoken there, or only gRPC over it.
  if (causes.some(({ name }) => name === "HTTPParserError") || has(/NO_APPLICATION_PROTOCOL/) || causes[0]?.message.endsWith("HTTP 415"))
    return { why: undefined, advice: "this looks like a gRPC port: the card is at the agent's HTTP port" };
  return undefined;
}

/** How a caller says who it is, by the schemes of the agent's card; undefined where no flag can say it. */
export function credentialsHint({ securitySchemes }: AgentCard): string | undefined {
  const ways = Object.values(securitySchemes).flatMap((scheme) => wayOf(scheme) ?? []);
  return ways.length === 0 ? undefined : [...new Set(ways)].join(", or ");
}

/** Of a webhook that is refused for where it is: what its operator can do about it, told to those who call an agent on their own machine. */
export function webhookHint({ violations }: A2AError, agent: URL): string | undefined {
  const isOurs = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(agent.hostname);
  const isRefused = violations.some(
    ({ field, description }) => /(^|\.)url$/.test(field) && /not encrypted|webhooks may not/.test(description),
  );
  return isOurs && isRefused ? `if the agent is yours: \`${commandLine()} serve --push-allow HOST\` lets it be called` : undefined;
}

function wayOf({ scheme }: SecurityScheme): string | undefined {
  switch (scheme.case) {
    case "apiKeySecurityScheme": {
      const { location, name } = scheme.value;
      if (location === "cookie") return `give a key: --header 'cookie: ${name}=<key>'`;
      return location === "header" ? `give a key: --header '${name}: <key>'` : undefined;
    }
    case "mtlsSecurityScheme":
      return "show a certificate: --cert FILE --key FILE";
    case undefined:
      return undefined;
    default:
      return "give a token: --token or THROUGHLINE_TOKEN";
  }
}

function* chainOf(thrown: unknown): Generator<Error> {
  for (let error = thrown; error instanceof Error; error = error.cause) yield error;
}
