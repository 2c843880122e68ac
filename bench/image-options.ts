/** The options of Node that the image gives it. */
export const AS_IN_IMAGE: readonly string[] = ["--max-semi-space-size=8", "--v8-pool-size=1"];
