/** One line of the table. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit:
    | 'ms'
    | 'runs/s'
    | 'requests/s'
    | 'orders/s'
    | 'deliveries/s'
    | 'fires/s'
    | 'searches/s'
    | 'chunks/s'
    | 'MB/s'
    | 'MB'
    | '×'
    | 'words/s'
    | 's'
    | '%'
    | '';
  /** What the value must not be above, must be below, or not be below. Absent: reported, not judged. */
  readonly bar?: { readonly atMost: number } | { readonly below: number } | { readonly atLeast: number };
}

/** What a measure found: figures for the table, remarks beneath it, everything else for the JSON file. */
export interface Findings {
  readonly figures: readonly Figure[];
  readonly remarks: readonly string[];
  readonly details: unknown;
}

export function isMet({ value, bar }: Figure): boolean | undefined {
  if (bar === undefined) return undefined;
  if ('below' in bar) return value < bar.below;
  return 'atMost' in bar ? value <= bar.atMost : value >= bar.atLeast;
}
