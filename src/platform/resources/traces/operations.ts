import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { getRunTrace, getTrace } from './get-trace.ts';
import { listTraces } from './list-traces.ts';
import { RunTracePath, Trace, TracePath, TraceQuery, TraceWithSpans } from './schema.ts';

export function traceOperations() {
  return [
    project.read({
      id: 'runs.trace',
      method: 'GET',
      path: '/v1/runs/{rid}/trace',
      posture: 'any',
      scope: 'traces:read',
      summary: 'Get a run’s trace',
      description: 'Of a run in progress: what has happened so far.',
      params: RunTracePath,
      reply: TraceWithSpans,
      handler: getRunTrace,
    }),
    project.read({
      id: 'traces.list',
      method: 'GET',
      path: '/v1/traces',
      posture: 'any',
      scope: 'traces:read',
      summary: 'List traces, newest first',
      description:
        'Those of runs and those that were pushed. A smith token sees its own smith’s; what is no smith’s takes a ' +
        'tenant-admin token.',
      query: TraceQuery,
      reply: pageOf(Trace),
      errors: ['invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: listTraces,
    }),
    project.read({
      id: 'traces.get',
      method: 'GET',
      path: '/v1/traces/{tid}',
      posture: 'any',
      scope: 'traces:read',
      summary: 'Get a trace with its spans',
      params: TracePath,
      reply: TraceWithSpans,
      handler: getTrace,
    }),
  ];
}
