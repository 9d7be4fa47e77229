/** Arbitrary portfolios, and what befalls them, for tests that let years go by. */
import fc from 'fast-check';

/** 29 February 2028, counted in days from 10 January 2027. */
const LEAP_DAY = 415;

export interface NamePlan {
  readonly day: number;
  readonly minute: number;
  readonly tld: string;
  readonly workspace: number;
  readonly autoRenew: boolean;
}

type PlainKind = 'nothing' | 'restart' | 'two workers' | 'registry away' | 'orders wait' | 'answer lost';

/** What happens when a step begins; `name` and `workspace` count modulo what there is. */
export type Event =
  | { readonly kind: PlainKind }
  | { readonly kind: 'top up'; readonly workspace: number; readonly cents: number }
  | { readonly kind: 'toggle' | 'toggle at once' | 'renewed elsewhere'; readonly name: number }
  | { readonly kind: 'refuse'; readonly name: number; readonly times: number }
  | { readonly kind: 'clock steps'; readonly days: number };

export interface Step {
  /** Since the last one. */
  readonly hours: number;
  readonly event: Event;
}

export const portfolio: fc.Arbitrary<NamePlan[]> = fc.array(
  fc.record({
    day: fc.oneof(fc.constant(LEAP_DAY), fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 500 })),
    minute: fc.nat(1_439),
    tld: fc.constantFrom('com', 'ai', 'de'),
    workspace: fc.nat(2),
    autoRenew: fc.boolean(),
  }),
  { minLength: 4, maxLength: 7 },
);

const name = fc.nat(8);
const calm = fc.constantFrom<PlainKind>('nothing', 'nothing', 'restart', 'two workers', 'two workers', 'answer lost');
const disturbed = fc.constantFrom<PlainKind>('registry away', 'orders wait');
const plain = fc.oneof({ weight: 3, arbitrary: calm }, { weight: 1, arbitrary: disturbed });
export const plainEvent = plain.map((kind): Event => ({ kind }));
export const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 10, arbitrary: plainEvent },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('top up'), workspace: fc.nat(2), cents: fc.nat(6_000) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('toggle', 'toggle at once'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refuse'), name, times: fc.constantFrom(1, 2, 3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renewed elsewhere'), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clock steps'), days: fc.integer({ min: -45, max: 60 }) }) },
);
export const stepsOf = (event: fc.Arbitrary<Event>): fc.Arbitrary<Step[]> =>
  fc.array(fc.record({ hours: fc.noBias(fc.integer({ min: 48, max: 200 })), event }), {
    minLength: 100,
    maxLength: 200,
  });
