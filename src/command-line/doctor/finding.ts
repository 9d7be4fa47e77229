/** What a check of the doctor found. */
export interface Finding {
  readonly check: string;
  /** `skipped`: there is nothing to check yet, or something else says it. Only `failed` makes the verdict bad. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to do about it; there whenever something is wrong. */
  readonly fix?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

export function warning(check: string, detail: string, fix: string): Finding {
  return { check, status: 'warning', detail, fix };
}

export function failed(check: string, detail: string, fix: string): Finding {
  return { check, status: 'failed', detail, fix };
}

export function skipped(check: string, detail: string): Finding {
  return { check, status: 'skipped', detail };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
