/** The nine kinds of deployments: what each is told when it is made. */
import type { DeploymentKind } from '../tables.ts';
import { EMAIL_ADDRESS } from './email/address.ts';
import { PHONE_NUMBER } from './twilio/number.ts';
import { WHATSAPP_ADDRESS } from './whatsapp/address.ts';

/** Members of `setup`, with which a deployment is bound or made at its provider later. */
export interface SetupMembers {
  readonly allowed: readonly ('display_name' | 'owner_email')[];
  readonly required: readonly 'display_name'[];
}

export interface KindOfDeployment {
  /** The code that says that its account is not set up, or that it is not offered. */
  readonly refusal: string;
  /** The code that refuses `setup`, or the members that it takes. */
  readonly setup: string | SetupMembers;
  /** Of the other side; absent where there is no single one. */
  readonly address?: {
    readonly pattern: RegExp;
    readonly what: string;
    /** The one form of an address that can be written in several. */
    readonly normalize?: (address: string) => string;
    /** It is the agent's own, rather than that of one person: an agent may have it. */
    readonly isOwn?: boolean;
  };
  /** Whether PATCH renames what people see; of Slack an app of the smith's own alone. */
  readonly renames: boolean;
}

const PHONE = { pattern: PHONE_NUMBER, what: 'a phone number in E.164, such as `+4930901820`' };
const NOTHING: SetupMembers = { allowed: [], required: [] };

export const kinds: Readonly<Record<DeploymentKind, KindOfDeployment>> = {
  whatsapp: {
    refusal: 'whatsapp_unconfigured',
    setup: NOTHING,
    address: WHATSAPP_ADDRESS,
    renames: false,
  },
  telegram: {
    refusal: 'telegram_bot_unconfigured',
    setup: NOTHING,
    address: { pattern: /^-?[1-9]\d{0,18}$/, what: 'the id of a chat' },
    renames: false,
  },
  slack: {
    refusal: 'slack_app_unconfigured',
    setup: { allowed: ['display_name', 'owner_email'], required: ['display_name'] },
    address: { pattern: /^T[A-Z0-9]{2,30}:[UW][A-Z0-9]{2,30}$/, what: 'a workspace and a user, `T…:U…`' },
    renames: true,
  },
  discord: {
    refusal: 'empty_config',
    setup: NOTHING,
    address: { pattern: /^\d{15,20}$/, what: 'the id of a user' },
    renames: false,
  },
  sms: { refusal: 'unsupported', setup: NOTHING, address: PHONE, renames: false },
  voice: {
    refusal: 'unsupported',
    setup: 'setup_unsupported',
    address: PHONE,
    renames: false,
  },
  email: {
    refusal: 'email_unconfigured',
    setup: { allowed: ['display_name', 'owner_email'], required: [] },
    address: EMAIL_ADDRESS,
    renames: true,
  },
  mcp: { refusal: 'unsupported', setup: 'mcp_no_setup', renames: false },
  web: { refusal: 'unsupported', setup: 'web_no_setup', renames: true },
};

export const DEPLOYMENT_KINDS = Object.keys(kinds) as readonly DeploymentKind[];
