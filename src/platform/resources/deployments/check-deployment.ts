/** What a deployment of each kind may be told when it is made, as far as that does not depend on an account. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { kinds } from '../../channels/index.ts';
import type { DeploymentIn } from './schema.ts';

/** A smith token deploys its own smith. Throws `forbidden_target`, whether the target exists or not. */
export function requireOwnTarget(caller: ProjectCaller, { type, id }: DeploymentIn['target']): void {
  if (caller.kind === 'tenant' || (type === 'smith' && id === caller.smithId)) return;
  throw new ApiError('forbidden_target', { param: 'target.id' });
}

/**
 * Whose messages arrive through an account of the project is not for a smith token to say: it could name anybody, who would then speak to
 * another's smith. With `setup` the person proves who they are. Throws `tenant_token_required`.
 */
export function requireProof(caller: ProjectCaller, { kind, address }: DeploymentIn): void {
  if (caller.kind === 'tenant' || address == null || !SHARED_KINDS.has(kind)) return;
  throw new ApiError('tenant_token_required', {
    param: 'address',
    message:
      'Only a tenant-admin token binds an address that it names. Leave `address` out and send `setup`: whoever opens what it gives is bound.',
  });
}

/** Reached through an account of the project; numbers and mailboxes are a deployment's own. */
const SHARED_KINDS: ReadonlySet<DeploymentIn['kind']> = new Set(['discord', 'slack', 'telegram', 'whatsapp']);

/**
 * Throws `web_no_setup`, `mcp_no_setup`, `setup_unsupported`, `agent_target_no_setup`, `invalid_setup`,
 * `display_name_required`, `target_not_supported`, `address_required` and `invalid_address`.
 */
export function checkBinding({ kind, target, address, setup }: DeploymentIn): void {
  if (setup != null) checkSetup(kind, target, setup);
  if (address != null && setup != null) {
    const message = '`address` binds the deployment now, `setup` later. Send one of them.';
    throw new ApiError('invalid_setup', { param: 'setup', message });
  }
  const { address: expected } = kinds[kind];
  if (address == null) {
    const isNeeded = expected !== undefined && setup == null && (target.type === 'smith' || expected.isOwn === true);
    if (isNeeded) throw new ApiError('address_required', { param: 'address' });
    return;
  }
  if (expected === undefined) {
    const message = `A deployment of the kind \`${kind}\` has no address of the other side. Leave \`address\` out.`;
    throw new ApiError('invalid_address', { param: 'address', message });
  }
  if (target.type === 'agent' && expected.isOwn !== true) {
    const message =
      'An agent takes whoever writes: its deployment has no address of one person. Leave `address` out, or target a smith.';
    throw new ApiError('target_not_supported', { param: 'target.type', message });
  }
  if (!expected.pattern.test(address)) {
    const message = `\`address\` is not ${expected.what}, which this kind needs.`;
    throw new ApiError('invalid_address', { param: 'address', message });
  }
}

function checkSetup(
  kind: DeploymentIn['kind'],
  target: DeploymentIn['target'],
  setup: Readonly<Record<string, unknown>>,
): void {
  const { setup: members } = kinds[kind];
  if (typeof members === 'string') throw new ApiError(members, { param: 'setup' });
  if (target.type === 'agent') throw new ApiError('agent_target_no_setup', { param: 'setup' });
  for (const [name, value] of Object.entries(setup)) {
    const isKnown = members.allowed.some((allowed) => allowed === name);
    if (isKnown && typeof value === 'string' && value.trim() !== '') continue;
    const param = `setup.${name}`;
    const message = isKnown ? `\`${param}\` is a text that is not empty.` : `This kind has no \`${param}\`.`;
    throw new ApiError('invalid_setup', { param, message });
  }
  const missing = members.required.find((name) => setup[name] === undefined);
  if (missing !== undefined) throw new ApiError('display_name_required', { param: `setup.${missing}` });
}

/** Why no deployment of the kind can be made: its account is not set up, or it is not offered. */
export function unavailable({ kind }: DeploymentIn): ApiError {
  return new ApiError(kinds[kind].refusal, { param: 'kind' });
}
