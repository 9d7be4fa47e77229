/** What people can type. Discord has the commands registered, and shows their options. */
import type { JsonObject } from '../../tables.ts';

const CHAT_INPUT = 1;
const TEXT_OPTION = 3;
const ATTACHMENT_OPTION = 11;
const MAX_MESSAGE_CHARS = 6_000;
/** In servers and in private, whoever has installed the application. */
const EVERYWHERE = { integration_types: [0, 1], contexts: [0, 1, 2] };

export const ASK = 'ask';
export const LINK = 'link';

export const DISCORD_COMMANDS: readonly JsonObject[] = [
  {
    type: CHAT_INPUT,
    name: ASK,
    description: 'Ask the assistant',
    ...EVERYWHERE,
    options: [
      {
        type: TEXT_OPTION,
        name: 'message',
        description: 'What you want to say',
        required: true,
        max_length: MAX_MESSAGE_CHARS,
      },
      { type: ATTACHMENT_OPTION, name: 'file', description: 'A file that belongs to it' },
    ],
  },
  {
    type: CHAT_INPUT,
    name: LINK,
    description: 'Connect your account, with the code that you were given',
    ...EVERYWHERE,
    options: [{ type: TEXT_OPTION, name: 'token', description: 'The code', required: true, max_length: 200 }],
  },
];
