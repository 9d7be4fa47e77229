import { ApiError } from '../../kernel/http/errors.ts';
import type { JsonObject } from '../tables.ts';
import { admitSchema, type SchemaTotals } from './check-limits.ts';
import { showPointer } from './schema-problem.ts';

/** Checks the schemas of one request's tools, one after the other. */
export type CheckParameters = (parameters: JsonObject, param: string) => void;

/**
 * Refuses parameters of tools that are over the limits, each or together. They are not compiled: models take them as they
 * are. The checker throws `invalid_request` that names `param`.
 */
export function createParameterCheck(): CheckParameters {
  const totals: SchemaTotals = { bytes: 0, parts: 0 };
  return (parameters, param) => {
    const admitted = admitSchema(parameters, totals);
    if (!('problem' in admitted)) return;
    const { pointer, problem } = admitted.problem;
    const message = `\`${param}\` is a schema ${problem}, ${showPointer(pointer)}.`;
    throw new ApiError('invalid_request', { param, message });
  };
}
