/** How many secrets a project may have and how large: together they must fit into the environment of one process. */
export const MAX_NAME_LENGTH = 128;
export const MAX_VALUE_BYTES = 16_384;
export const MAX_SECRETS = 64;
