/** When the update in this frame was made, in nanoseconds of the clock that all processes of this host share. */
export function madeAt(frame: Buffer): bigint {
  const found = /t=(\d+) /u.exec(frame.toString("latin1"))?.[1];
  if (found === undefined) throw new Error("the frame has no time in it");
  return BigInt(found);
}
