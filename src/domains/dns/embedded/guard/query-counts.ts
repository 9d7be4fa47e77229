/** What became of queries: plain numbers, which a scrape of the metrics reads. */
import type { Metrics } from '../../../../kernel/metrics/metrics.ts';

const outcomes = ['answered', 'truncated', 'dropped', 'bad_cookie'] as const;
export type Outcome = (typeof outcomes)[number];

const cookieKinds = ['none', 'new', 'valid'] as const;
export type CookieKind = (typeof cookieKinds)[number];

export class QueryCounts {
  readonly #outcomes: Record<Outcome, number> = { answered: 0, truncated: 0, dropped: 0, bad_cookie: 0 };
  readonly #cookies: Record<CookieKind, number> = { none: 0, new: 0, valid: 0 };

  constructor(metrics: Metrics | undefined) {
    metrics?.gauge(
      'dns_udp_responses',
      'Queries by UDP since the start, by what became of them',
      ['outcome'],
      (gauge) => {
        for (const outcome of outcomes) gauge.set({ outcome }, this.#outcomes[outcome]);
      },
    );
    metrics?.gauge(
      'dns_query_cookies',
      'Queries since the start, by the DNS cookie that they showed',
      ['cookie'],
      (gauge) => {
        for (const cookie of cookieKinds) gauge.set({ cookie }, this.#cookies[cookie]);
      },
    );
  }

  count(outcome: Outcome): void {
    this.#outcomes[outcome] += 1;
  }

  countCookie(kind: CookieKind): void {
    this.#cookies[kind] += 1;
  }
}
