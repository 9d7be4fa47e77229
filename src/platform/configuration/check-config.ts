/** Checks of configuration that a schema cannot express. */
import { ApiError } from '../../kernel/http/errors.ts';
import { parseModelId } from '../models/index.ts';
import { hostedToolNames } from '../tools/hosted-tools.ts';
import { MAX_INSTRUCTIONS_BYTES } from './render-instructions.ts';

/**
 * Throws `unknown_provider` or `invalid_request` for a model id that cannot be run, `invalid_request` for instructions that
 * are too large, a hosted tool that does not exist or a skill named twice, `invalid_variables` for a variable named twice.
 */
export function checkConfig(config: {
  readonly model?: string | null;
  readonly instructions?: string | null;
  readonly enabled_hosted_tools?: readonly string[] | null;
  readonly skills?: readonly { readonly skill_id: string }[] | null;
  readonly variables?: readonly { readonly name: string }[] | null;
}): void {
  if (config.model !== undefined && config.model !== null) parseModelId(config.model);
  if (Buffer.byteLength(config.instructions ?? '') > MAX_INSTRUCTIONS_BYTES) {
    throw new ApiError('invalid_request', {
      param: 'instructions',
      message: `\`instructions\` must have at most ${MAX_INSTRUCTIONS_BYTES} bytes in UTF-8.`,
    });
  }
  for (const tool of config.enabled_hosted_tools ?? []) {
    if (hostedToolNames.includes(tool)) continue;
    throw new ApiError('invalid_request', {
      param: 'enabled_hosted_tools',
      message: `There is no hosted tool "${tool}". There are: ${hostedToolNames.join(', ')}.`,
    });
  }
  const skill = findRepeated((config.skills ?? []).map(({ skill_id }) => skill_id));
  if (skill !== undefined) {
    throw new ApiError('invalid_request', { param: 'skills', message: `The skill "${skill}" is named twice.` });
  }
  const variable = findRepeated((config.variables ?? []).map(({ name }) => name));
  if (variable !== undefined) {
    throw new ApiError('invalid_variables', {
      param: 'variables',
      message: `The variable "${variable}" is named twice.`,
    });
  }
}

function findRepeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}
