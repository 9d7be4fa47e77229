import { BASE_PATH, workspace } from '../../operation.ts';
import type { SignerDependencies } from './dependencies.ts';
import { getDelegationSigners } from './get-delegation-signers.ts';
import { replaceDelegationSigners } from './replace-delegation-signers.ts';
import { DelegationSigners, DelegationSignersChange, DelegationSignersPath } from './schema.ts';

export function delegationSignerOperations(deps: SignerDependencies) {
  return [
    workspace.read({
      id: 'delegation_signers.list',
      method: 'GET',
      path: `${BASE_PATH}/domains/{name}/ds`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List a domain’s DS records',
      description: 'As the registry reports them: those of the service too, where it signs the zone.',
      params: DelegationSignersPath,
      reply: DelegationSigners,
      errors: ['not_found', 'pending_at_registry'],
      handler: getDelegationSigners(deps),
    }),
    workspace.turn({
      id: 'delegation_signers.replace',
      method: 'PUT',
      path: `${BASE_PATH}/domains/{name}/ds`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Replace a domain’s DS records',
      description:
        'For a zone that is signed by nameservers of others; an empty list makes the domain unsigned. A domain with the service’s own nameservers has `dnssec` in its settings instead. ' +
        'Keys are changed without an outage by adding the new record, and taking the old one away when its TTL is over.',
      idempotent: true,
      params: DelegationSignersPath,
      body: DelegationSignersChange,
      example: { ds_records: [] },
      reply: DelegationSigners,
      errors: ['not_found', 'pending_at_registry', 'pending_operation'],
      handler: replaceDelegationSigners(deps),
    }),
  ];
}
