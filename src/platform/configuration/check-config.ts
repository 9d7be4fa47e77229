/** Checks of configuration that a schema cannot express. */
import { ApiError } from '../../kernel/http/errors.ts';
import { parseModelId } from '../models/index.ts';
import type { AgentVariable } from '../tables.ts';
import { hostedToolNames } from '../tools/hosted-tools.ts';

/**
 * Throws `unknown_provider` or `invalid_request` for a model id that cannot be run, `invalid_request` for a hosted tool
 * that does not exist, `invalid_variables` for a variable named twice.
 */
export function checkConfig(config: {
  readonly model?: string | null;
  readonly enabled_hosted_tools?: readonly string[] | null;
  readonly variables?: readonly AgentVariable[] | null;
}): void {
  if (config.model !== undefined && config.model !== null) parseModelId(config.model);
  for (const tool of config.enabled_hosted_tools ?? []) {
    if (hostedToolNames.includes(tool)) continue;
    throw new ApiError('invalid_request', {
      param: 'enabled_hosted_tools',
      message: `There is no hosted tool "${tool}". There are: ${hostedToolNames.join(', ')}.`,
    });
  }
  const seen = new Set<string>();
  for (const { name } of config.variables ?? []) {
    if (seen.has(name)) {
      throw new ApiError('invalid_variables', { param: 'variables', message: `The variable "${name}" is named twice.` });
    }
    seen.add(name);
  }
}
