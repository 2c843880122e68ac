/** All kits, in the page's order. */
import type { ForeignKit } from "./foreign-kit.ts";
import { go } from "./go/kit.ts";
import { java } from "./java/kit.ts";
import { javascript } from "./javascript/kit.ts";
import { python } from "./python/kit.ts";
import { rust } from "./rust/kit.ts";
import { curl, grpcurl } from "./shell/kit.ts";

export const KITS: readonly ForeignKit[] = [javascript, python, go, java, rust, curl, grpcurl];
