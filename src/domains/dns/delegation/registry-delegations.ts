import { type Registry, RegistryUnavailable } from '../../registry/registry.ts';
import { type Delegations, DelegationUnknown } from './delegations.ts';

/** For the simulated registry, whose names are in no DNS: it shows the nameservers of every name. */
export function createRegistryDelegations(registry: Pick<Registry, 'info'>): Delegations {
  return {
    async find(name) {
      try {
        return { nameservers: (await registry.info(name))?.nameservers ?? [], ttlSeconds: undefined };
      } catch (error) {
        if (error instanceof RegistryUnavailable) throw new DelegationUnknown(error.message, error);
        throw error;
      }
    },
  };
}
