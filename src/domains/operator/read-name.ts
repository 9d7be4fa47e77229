import { ApiError } from '../../kernel/http/errors.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { normalizeName } from '../names/normalize-name.ts';

export function readName(asked: string): string {
  try {
    return normalizeName(asked, 'name').ascii;
  } catch (error) {
    if (error instanceof ApiError) throw new OperatorError(`${asked} is no domain name.`);
    throw error;
  }
}
