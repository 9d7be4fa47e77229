import type { ResendDependencies } from '../../deletions/index.ts';
import { workspace } from '../../operation.ts';
import { deleteDomain } from './delete-domain.ts';
import type { DomainDependencies } from './dependencies.ts';
import { getDomain } from './get-domain.ts';
import { listDomains } from './list-domains.ts';
import { registerDomain } from './register-domain.ts';
import { renewDomain } from './renew-domain.ts';
import { restoreDomain } from './restore-domain.ts';
import {
  Deletion,
  DeletionQuery,
  DomainDetails,
  DomainList,
  DomainPage,
  DomainPath,
  Registration,
  RenewalOrder,
  RestorationOrder,
  Spending,
  TradeOrder,
  TransferOrder,
} from './schema.ts';
import { tradeDomain } from './trade-domain.ts';
import { transferDomain } from './transfer-domain.ts';

const SPENDS =
  'The wallet pays, or with `payment_method` or `shared_payment_token` a card, which is refunded if the registry refuses. ' +
  'Repeat a call whose outcome you do not know with the same `Idempotency-Key`: nothing is bought twice.';

const SPENDING_ERRORS = ['price_changed', 'insufficient_balance', 'payment_failed'] as const;

export function domainOperations(deps: DomainDependencies & ResendDependencies) {
  return [
    workspace.read({
      id: 'domains.list',
      method: 'GET',
      path: '/api/v1/domains',
      posture: 'workspace',
      scope: 'read',
      summary: 'List the portfolio',
      description:
        'In alphabetical order, each as the registry reported it at `syncedAt`: once a day, and of a registrar with very many names every few days.',
      query: DomainPage,
      reply: DomainList,
      handler: listDomains(deps),
    }),
    workspace.read({
      id: 'domains.get',
      method: 'GET',
      path: '/api/v1/domains/{name}',
      posture: 'workspace',
      scope: 'read',
      summary: 'Get a domain from its registry, and how its renewal stands',
      params: DomainPath,
      reply: DomainDetails,
      errors: ['pending_at_registry'],
      handler: getDomain(deps),
    }),
    workspace.turn({
      id: 'domains.register',
      method: 'POST',
      path: '/api/v1/domains',
      posture: 'workspace',
      scope: 'write',
      summary: 'Register a domain',
      description: SPENDS,
      idempotent: true,
      status: 201,
      body: Registration,
      example: { domain: 'my-first-name.com', confirm_price: 11.9 },
      reply: Spending,
      errors: ['already_in_portfolio', 'registration_failed', ...SPENDING_ERRORS],
      handler: registerDomain(deps),
    }),
    workspace.turn({
      id: 'domains.renew',
      method: 'POST',
      path: '/api/v1/domains/{name}/renew',
      posture: 'workspace',
      scope: 'write',
      summary: 'Renew a domain',
      description: SPENDS,
      idempotent: true,
      params: DomainPath,
      body: RenewalOrder,
      example: { confirm_price: 11.9 },
      reply: Spending,
      errors: ['renewal_in_progress', 'renew_failed', ...SPENDING_ERRORS],
      handler: renewDomain(deps),
    }),
    workspace.turn({
      id: 'domains.transfer',
      method: 'POST',
      path: '/api/v1/domains/{name}/transfer',
      posture: 'workspace',
      scope: 'write',
      summary: 'Transfer a domain in',
      description: `${SPENDS} The present registrar has days to answer; the domain keeps its nameservers.`,
      idempotent: true,
      status: 201,
      params: DomainPath,
      body: TransferOrder,
      reply: Spending,
      errors: ['already_in_portfolio', 'transfer_failed', ...SPENDING_ERRORS],
      handler: transferDomain(deps),
    }),
    workspace.turn({
      id: 'domains.restore',
      method: 'POST',
      path: '/api/v1/domains/{name}/restore',
      posture: 'workspace',
      scope: 'write',
      summary: 'Restore a deleted domain',
      description: `Within its redemption period, at the price that \`restoration\` of GET /domains/{name} says. Auto-renew stays off. ${SPENDS}`,
      idempotent: true,
      params: DomainPath,
      body: RestorationOrder,
      reply: Spending,
      errors: ['restore_failed', 'pending_operation', ...SPENDING_ERRORS],
      handler: restoreDomain(deps),
    }),
    workspace.turn({
      id: 'domains.trade',
      method: 'POST',
      path: '/api/v1/domains/{name}/trade',
      posture: 'workspace',
      scope: 'write',
      summary: 'Give a domain its present registrant as its holder',
      description:
        'At registries where that is a command of its own, at the price that `trade` of GET /domains/{name} says: PATCH /registrant alone leaves the ' +
        `domain with the holder that it has there. The registry may ask both holders by mail, which takes days. ${SPENDS}`,
      idempotent: true,
      params: DomainPath,
      body: TradeOrder,
      reply: Spending,
      errors: ['trade_failed', 'pending_operation', ...SPENDING_ERRORS],
      handler: tradeDomain(deps),
    }),
    workspace.turn({
      id: 'domains.delete',
      method: 'DELETE',
      path: '/api/v1/domains/{name}',
      posture: 'workspace',
      scope: 'write',
      summary: 'Delete a domain, or schedule its release',
      description:
        'Some registries take a name back for nothing that was registered a few days before: then what it cost comes back into the ' +
        'wallet, less a fee. Else no money comes back. A release can be taken back until then: turn `auto_renew` on again.',
      idempotent: true,
      params: DomainPath,
      query: DeletionQuery,
      reply: Deletion,
      errors: ['renewal_in_progress', 'pending_at_registry', 'delete_failed'],
      handler: deleteDomain(deps),
    }),
  ];
}
