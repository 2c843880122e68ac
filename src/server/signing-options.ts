/** Options of signatures of the agent card. */
import { z } from "zod";

/** The group `signing`. */
export const signingSchema = z.strictObject({
  keys: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Files of the private keys that sign the card, in PEM (PKCS #8) or as JWK; each makes a signature. Default: none, it is not signed.",
    ),
  jku: z
    .boolean()
    .default(true)
    .describe("Whether signatures say where the keys are published (/.well-known/jwks.json), where the server's URL is an https one."),
});
