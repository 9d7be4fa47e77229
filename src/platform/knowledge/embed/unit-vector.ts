/** A copy scaled to length 1, computed in double precision. The vector must not be all zeros. */
export function toUnitVector(values: ArrayLike<number>): Float32Array {
  let squares = 0;
  for (let index = 0; index < values.length; index++) squares += (values[index] ?? 0) ** 2;
  const scale = 1 / Math.sqrt(squares);
  const unit = new Float32Array(values.length);
  for (let index = 0; index < values.length; index++) unit[index] = (values[index] ?? 0) * scale;
  return unit;
}
