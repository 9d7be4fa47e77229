/** What the load generator is asked to do and what it reports; both cross a process boundary. */
import Type, { type Static } from 'typebox';
import { Summary } from '../statistics.ts';

/** `{uuid}` in the path or the body becomes a fresh UUID for each request. */
const HttpRequest = Type.Object({
  method: Type.String(),
  path: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
  body: Type.Optional(Type.String()),
  /** The answer's body must contain this, and its status be 2xx, or the answer counts as an error. */
  expect: Type.Optional(Type.String()),
  /** A text member of each answer, which takes the place of `{carried}` in the next body; `first` does in the first one. */
  carry: Type.Optional(Type.Object({ member: Type.String(), first: Type.String() })),
});
export type HttpRequest = Static<typeof HttpRequest>;

const target = { host: Type.String(), port: Type.Integer() };

/** Named requests in turn on one connection: `warmUpRounds` unmeasured, then `rounds` measured. A summary for each name. */
const SequenceJob = Type.Object({
  kind: Type.Literal('sequence'),
  ...target,
  requests: Type.Record(Type.String(), HttpRequest),
  warmUpRounds: Type.Integer(),
  rounds: Type.Integer(),
});

/**
 * One connection for each request, each sending its own again as soon as it is answered. Summary `latency`. With `windowMs` the
 * figures `window 0`, `window 1`, … say how many ended as expected in each such stretch of the measured time.
 */
const SaturationJob = Type.Object({
  kind: Type.Literal('saturation'),
  ...target,
  requests: Type.Array(HttpRequest),
  warmUpMs: Type.Integer(),
  durationMs: Type.Integer(),
  windowMs: Type.Optional(Type.Integer()),
});

/** One stream after another on one connection. Summaries `first_frame`, `first_delta`, `end`. */
const FirstByteJob = Type.Object({
  kind: Type.Literal('first-byte'),
  ...target,
  request: HttpRequest,
  /** The name of the frames that carry text. */
  deltaEvent: Type.String(),
  warmUpRounds: Type.Integer(),
  rounds: Type.Integer(),
});

/**
 * One connection and one paced stream for each request, started `startEveryMs` apart. Summaries: `lag` of every word (see
 * measure-lag.ts), `lag_all_open` of the words that were due while every stream was open (for `seconds`), `first_frame`,
 * `first_word`.
 */
const StreamsJob = Type.Object({
  kind: Type.Literal('streams'),
  ...target,
  requests: Type.Array(HttpRequest),
  deltaEvent: Type.String(),
  startEveryMs: Type.Number(),
  wordsPerStream: Type.Integer(),
  wordsPerSecond: Type.Number(),
});

/**
 * The same request to several targets, each once in every round on a connection of its own. Summaries of each: `NAME end`,
 * `NAME first` (the first text of a stream), and what it adds to `base` within the round: `NAME end added`,
 * `NAME first added`.
 */
const ComparisonJob = Type.Object({
  kind: Type.Literal('comparison'),
  targets: Type.Record(Type.String(), Type.Object({ ...target, request: HttpRequest })),
  base: Type.String(),
  warmUpRounds: Type.Integer(),
  rounds: Type.Integer(),
});

export const LoadJob = Type.Union([SequenceJob, SaturationJob, FirstByteJob, StreamsJob, ComparisonJob]);
export type LoadJob = Static<typeof LoadJob>;
export type SequenceJob = Static<typeof SequenceJob>;
export type SaturationJob = Static<typeof SaturationJob>;
export type FirstByteJob = Static<typeof FirstByteJob>;
export type StreamsJob = Static<typeof StreamsJob>;
export type ComparisonJob = Static<typeof ComparisonJob>;

export const Measurement = Type.Object({
  summaries: Type.Record(Type.String(), Summary),
  /** Measured requests or streams that ended as expected. */
  completed: Type.Integer(),
  failed: Type.Integer(),
  /** Why, the first few. */
  failures: Type.Array(Type.String()),
  /** Over which `completed` was counted. */
  seconds: Type.Number(),
  /** Further figures of one kind of job. */
  figures: Type.Record(Type.String(), Type.Number()),
});
export type Measurement = Static<typeof Measurement>;

/** How busy the generator itself was: a reader judges by it whether the generator bent the figures. */
export const GeneratorLoad = Type.Object({
  /** Its event loop's delay beyond the sampling interval, milliseconds. */
  loop_delay_p50: Type.Number(),
  loop_delay_p99: Type.Number(),
  loop_delay_max: Type.Number(),
  /** Share of one core. */
  cpu: Type.Number(),
});
export type GeneratorLoad = Static<typeof GeneratorLoad>;

export const LoadReply = Type.Union([
  Type.Object({ ok: Type.Literal(true), measurement: Measurement, generator: GeneratorLoad }),
  Type.Object({ ok: Type.Literal(false), error: Type.String() }),
]);
export type LoadReply = Static<typeof LoadReply>;
