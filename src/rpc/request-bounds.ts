/** How much a request may hold, whatever its bytes. */

/** Bounds of what one request holds. */
export interface RequestBounds {
  /**
   * Scalars, objects and arrays in JSON, fields in binary. Two bytes make a value that costs a hundred and a few microseconds here, so bytes
   * alone bound neither the memory nor the time of a request.
   */
  readonly values: number;
  /** How many messages may lie within each other, counted as the binary form nests them: a JSON object or array inside a Struct counts two. */
  readonly depth: number;
}

/**
 * What a request may hold unless options say otherwise. Protobuf decoders stop at 100 levels; the difference is room for what wraps a message
 * later, a task, a stream frame, an entry of the log: no option may ask for more.
 */
export const REQUEST_BOUNDS: RequestBounds = { values: 100_000, depth: 90 };
