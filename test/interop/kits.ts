/** All kits, in the page's order. */
import type { ForeignKit } from "./foreign-kit.ts";
import { go } from "./go/kit.ts";
import { java } from "./java/kit.ts";
import { rust } from "./rust/kit.ts";

export const KITS: readonly ForeignKit[] = [go, java, rust];
