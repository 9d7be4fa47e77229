import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/reply.ts';
import { isId, mintId, withPrefix } from '../../../kernel/ids/ids.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { requireReferences, smithOf } from '../../access/references.ts';
import { findRunTrace, findSpanProblem, isExternalTrace, storeSpans, w3cTraceIdOf } from '../../traces/index.ts';
import { readSpan } from './read-span.ts';
import type { TraceIngested, TraceIngestIn } from './schema.ts';

type Request = ProjectChange<{ body: TraceIngestIn }>;

/** 201 with a new trace, 200 where the spans join one. */
export function ingestTrace({ clock }: { readonly clock: Clock }) {
  return async (request: Request): Promise<HttpReply<TraceIngested>> => {
    const { tx, caller, body } = request;
    const smithId = await readSmith(request);
    const place = await readPlace(request);
    const now = clock.now();
    const spans = body.spans.map(readSpan);
    for (const [index, span] of spans.entries()) {
      const problem = findSpanProblem(span, now);
      if (problem === undefined) continue;
      throw new ApiError('invalid_request', { param: `spans.${index}.${problem.member}`, message: problem.message });
    }
    const pushed = { ...place, smithId, appId: body.app_id ?? null, spans };
    const [outcome] = await storeSpans(tx, smithOf(caller) ?? '', [pushed]);
    if (outcome === undefined) throw new Error('spans were neither stored nor refused');
    if (outcome.kind === 'refused') throw outcome.refusal;
    const { id, externalId, isNew, accepted, repeated, spanCount } = outcome;
    return new HttpReply(isNew ? 201 : 200, {
      trace_id: id,
      external_id: externalId,
      accepted,
      repeated,
      span_count: spanCount,
    });
  };
}

async function readSmith({ tx, caller, body }: Request): Promise<string | null> {
  const { smith_id: named } = body;
  if (named == null) return smithOf(caller) ?? null;
  requireSmith(caller, named);
  await requireReferences(
    tx,
    caller,
    'smith',
    [named],
    () => new ApiError('not_found', { param: 'smith_id', message: 'There is no such smith.' }),
  );
  return named;
}

/** Which trace it is. A `trc_` id names one that is there, every other id is the caller's own. */
async function readPlace({ tx, caller, body }: Request): Promise<{ externalId: string; id?: string }> {
  const { trace_id: named } = body;
  if (named == null) return { externalId: w3cTraceIdOf(mintId('trc')) };
  if (!isId('trc', named)) return { externalId: named };
  const smithId = smithOf(caller);
  if (await isExternalTrace(tx, named, smithId)) return { externalId: named, id: named };
  const isRuns = (await findRunTrace(tx, withPrefix('run', named), smithId)) !== undefined;
  throw isRuns
    ? new ApiError('invalid_request', { param: 'trace_id', message: 'The trace of a run takes no further spans.' })
    : new ApiError('not_found', { param: 'trace_id', message: 'There is no such trace.' });
}
