import { ApiError } from '../../kernel/http/errors.ts';
import { type ReadOptions, type Registry, RegistryUnavailable } from '../registry/registry.ts';

/** Throws `registration_failed` for a name that is taken, or kept back, and `RegistryUnavailable` where the registry does not say. */
export async function requireAvailable(
  { registry }: { readonly registry: Pick<Registry, 'check'> },
  name: string,
  options?: ReadOptions,
): Promise<void> {
  const [found] = await registry.check([name], options);
  if (found?.availability === 'available') return;
  if (found === undefined || found.availability === 'unknown') {
    throw new RegistryUnavailable(`the registry does not say whether ${name} is taken`);
  }
  throw new ApiError('registration_failed', {
    message: `${name} is ${found.availability}. Nothing was charged. GET /suggest has other names.`,
  });
}
