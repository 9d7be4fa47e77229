/** Each with whether it is the last: one is held back. */
export function* markLast<T>(items: Iterable<T>): Generator<{ readonly item: T; readonly isLast: boolean }, void> {
  let held: { readonly item: T } | undefined;
  for (const item of items) {
    if (held !== undefined) yield { ...held, isLast: false };
    held = { item };
  }
  if (held !== undefined) yield { ...held, isLast: true };
}
