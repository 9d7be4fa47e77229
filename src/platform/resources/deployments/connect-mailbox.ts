/** A mailbox of the project's mail domain: there at once, as nobody has to be bound. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { domainOf, kinds, type MailboxSettings, proposeHandles, readMailboxSettings } from '../../channels/index.ts';
import { refuseExtras, requireAccount } from './connect-channel.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { renderDeployment } from './render-deployment.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { insertConnection } from './store.ts';

/** Throws `not_found`, `agent_unpublished`, `email_unconfigured`, `invalid_request`, `invalid_setup`, `invalid_address` and `handle_unavailable`. */
export async function connectMailbox(
  { publicUrl, channels }: DeploymentDependencies,
  { tx, caller, body }: ProjectChange<{ body: DeploymentIn }>,
): Promise<CreatedDeployment> {
  const { kind, target } = body;
  const settings = readSettings(body);
  await holdTarget(tx, caller, target);
  const { accountId: domain } = (await requireAccount(tx, channels, body)).account;
  refuseExtras(body);
  for (const address of proposeAddresses(body, domain, settings)) {
    const row = await insertConnection(tx, {
      ...{ id: mintId('dep'), kind, address },
      smith_id: target.type === 'smith' ? target.id : null,
      agent_id: target.type === 'agent' ? target.id : null,
      provider: null,
      account_id: '',
      provider_metadata: settings,
      ...{
        sealed_secrets: null,
        secret_keys: [],
        status: 'active',
        start_token_hash: null,
        start_token_expires_at: null,
      },
    });
    if (row !== undefined) return renderDeployment(publicUrl, row);
  }
  throw new ApiError('handle_unavailable', { param: body.address == null ? 'setup' : 'address' });
}

function readSettings({ target, setup, provider_metadata: metadata }: DeploymentIn): MailboxSettings {
  const hasOwner = target.type === 'smith';
  const given = readMailboxSettings(metadata ?? {}, { at: 'provider_metadata', code: 'invalid_request', hasOwner });
  return { ...given, ...readMailboxSettings(setup ?? {}, { at: 'setup', code: 'invalid_setup', hasOwner }) };
}

/** The one that was asked for, or those that may be free. */
function proposeAddresses(
  { kind, address }: DeploymentIn,
  domain: string,
  { display_name: name }: MailboxSettings,
): readonly string[] {
  if (address == null) return [...proposeHandles(name)].map((handle) => `${handle}@${domain}`);
  const mailbox = kinds[kind].address?.normalize?.(address) ?? address;
  if (domainOf(mailbox) === domain) return [mailbox];
  const message = `\`address\` is a mailbox of the project’s mail domain. Send one that ends with \`@${domain}\`.`;
  throw new ApiError('invalid_address', { param: 'address', message });
}
