import { type JsonSchema, Unsatisfiable } from './json-schema.ts';

/** A number within the schema's bounds; `ordinal` sets several of them apart. Throws `Unsatisfiable` where there is none. */
export function buildNumber(schema: JsonSchema, ordinal: number, whole: boolean): number {
  const step = schema.multipleOf ?? (whole ? 1 : undefined);
  let low = schema.minimum ?? Number.NEGATIVE_INFINITY;
  let high = schema.maximum ?? Number.POSITIVE_INFINITY;
  const above = schema.exclusiveMinimum;
  const below = schema.exclusiveMaximum;
  const openLow = above !== undefined && above >= low;
  const openHigh = below !== undefined && below <= high;
  if (openLow) low = above;
  if (openHigh) high = below;
  const fits = (value: number) =>
    (openLow ? value > low : value >= low) &&
    (openHigh ? value < high : value <= high) &&
    (!whole || Number.isInteger(value)) &&
    // As validators divide: by this 0.3 is no multiple of 0.1, and 0.4 is.
    (schema.multipleOf === undefined || Number.isInteger(value / schema.multipleOf));

  const base = Number.isFinite(low) ? low : Number.isFinite(high) ? Math.min(0, high - ordinal) : 0;
  const candidates: number[] = [];
  if (step !== undefined) {
    const start = Math.ceil(base / step);
    // An integer that is to be a multiple of 0.5 needs every second one.
    for (let index = 0; index < 8; index++) candidates.push(roundStep((start + ordinal + index) * step));
    candidates.push(roundStep((Math.floor(high / step) - ordinal) * step), roundStep(start * step));
  } else {
    candidates.push(base + ordinal, base + ordinal + 1);
    // Between narrow or open bounds: distinct fractions of the way.
    if (Number.isFinite(low) && Number.isFinite(high)) candidates.push(low + (high - low) / (ordinal + 2), low, high);
    if (Number.isFinite(low)) candidates.push(low + 1 / (ordinal + 2));
    if (Number.isFinite(high)) candidates.push(high - ordinal, high - ordinal - 1);
  }
  const value = candidates.find((each) => Number.isFinite(each) && fits(each));
  if (value === undefined) throw new Unsatisfiable();
  return Object.is(value, -0) ? 0 : value;
}

/** 3 × 0.1 is not 0.3. */
function roundStep(value: number): number {
  return Number(value.toPrecision(12));
}
