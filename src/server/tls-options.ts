/** Options of TLS on the gRPC and the HTTP port. */
import { z } from "zod";

/** The group `tls`. */
export const tlsSchema = z
  .strictObject({
    cert: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file of the server's certificate and those between it and its authority. Default: no TLS."),
    key: z.string().min(1).optional().describe("PEM file of its key."),
    clientCa: z
      .string()
      .min(1)
      .optional()
      .describe("PEM file of authorities whose client certificates are trusted. Default: clients are asked for none."),
    clientAuth: z
      .enum(["request", "require"])
      .default("require")
      .describe("Whether a client without a trusted certificate gets a connection (request) or not (require); with tls.clientCa."),
    minVersion: z.enum(["TLSv1.2", "TLSv1.3"]).default("TLSv1.2").describe("Oldest version of TLS."),
    reloadMs: z
      .int()
      .min(10)
      .max(2_147_000_000)
      .default(10_000)
      .describe("Time between two looks whether the files have changed; they are then used for new connections."),
    hstsMaxAgeSeconds: z
      .int()
      .min(0)
      .default(31_536_000)
      .describe("How long browsers come back by HTTPS only (Strict-Transport-Security); 0: nothing is said of it."),
  })
  .superRefine(({ cert, key, clientCa }, context) => {
    if ((cert === undefined) !== (key === undefined))
      context.addIssue({ code: "custom", path: [cert === undefined ? "cert" : "key"], message: "tls.cert and tls.key go together" });
    if (clientCa !== undefined && cert === undefined)
      context.addIssue({ code: "custom", path: ["clientCa"], message: "has no effect without tls.cert" });
  });

/** Options of TLS, complete. */
export type TlsOptions = z.output<typeof tlsSchema>;
