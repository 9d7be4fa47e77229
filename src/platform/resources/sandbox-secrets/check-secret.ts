/** Which names and values a sandbox secret may have. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { MAX_NAME_LENGTH, MAX_VALUE_BYTES } from './limits.ts';

const NAME = new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${MAX_NAME_LENGTH - 1}}$`);

/**
 * Variables by which a value, which is meant to be read, would instead decide what runs: what the loader and the C library load, where
 * programs, modules and configuration are looked for, what shells and interpreters run before their program, and which
 * helper programs tools start.
 */
const REFUSED_NAMES: ReadonlySet<string> = new Set([
  // The C library and its locales.
  ...[
    'GCONV_PATH',
    'GETCONF_DIR',
    'HOSTALIASES',
    'LOCALDOMAIN',
    'LOCPATH',
    'NIS_PATH',
    'NLSPATH',
    'RES_OPTIONS',
    'TZ',
    'TZDIR',
  ],
  // What the box itself sets, and what decides where things are.
  ...['HOME', 'LOGNAME', 'OLDPWD', 'PATH', 'PWD', 'SHELL', 'TERM', 'TMPDIR', 'TMP', 'TEMP', 'USER'],
  ...['TERMCAP', 'TERMINFO', 'TERMINFO_DIRS'],
  // Shells.
  ...[
    'BASHOPTS',
    'BASH_ENV',
    'CDPATH',
    'ENV',
    'FPATH',
    'GLOBIGNORE',
    'IFS',
    'INPUTRC',
    'OPTIND',
    'PPID',
    'PROMPT_COMMAND',
  ],
  ...['PS1', 'PS2', 'PS3', 'PS4', 'SHELLOPTS', 'UID', 'EUID', 'ZDOTDIR'],
  // Interpreters.
  ...['CLASSPATH', 'JAVA_OPTIONS', 'JAVA_TOOL_OPTIONS', 'JDK_JAVA_OPTIONS', '_JAVA_OPTIONS'],
  ...['LUA_CPATH', 'LUA_INIT', 'LUA_PATH', 'PHPRC', 'PHP_INI_SCAN_DIR', 'R_PROFILE', 'R_PROFILE_USER', 'TCLLIBPATH'],
  ...[
    'AWKPATH',
    'AWKLIBPATH',
    'GUILE_LOAD_PATH',
    'JULIA_LOAD_PATH',
    'OPENSSL_CONF',
    'OPENSSL_ENGINES',
    'OPENSSL_MODULES',
  ],
  // Compilers and build tools.
  ...[
    'CC',
    'CXX',
    'COMPILER_PATH',
    'CPATH',
    'GCC_EXEC_PREFIX',
    'LIBRARY_PATH',
    'MAKEFILES',
    'MAKEFLAGS',
    'RUSTC_WRAPPER',
  ],
  // Helper programs that tools start, and options that they take.
  ...[
    'BROWSER',
    'EDITOR',
    'GZIP',
    'LESSCLOSE',
    'LESSOPEN',
    'MANPAGER',
    'PAGER',
    'SSH_ASKPASS',
    'SUDO_ASKPASS',
    'SUDO_EDITOR',
  ],
  ...['RSYNC_RSH', 'TAR_OPTIONS', 'UNZIP', 'UNZIPOPT', 'VISUAL', 'XZ_DEFAULTS', 'XZ_OPT', 'ZIPOPT'],
]);

const REFUSED_FAMILIES =
  /^(?:LD_|DYLD_|GLIBC_|MALLOC_|RTLD_|ASAN_|TSAN_|UBSAN_|LSAN_|BASH_FUNC_|LC_|LANG|NODE_OPTIONS|NODE_PATH|NODE_REPL|NODE_EXTRA|NODE_V8|NODE_COMPILE|PYTHON|PERL|RUBYOPT|RUBYLIB|BUNDLE_|GEM_|GIT_|NPM_CONFIG_|npm_config_|IRONCRAFT_)/;

/** Throws `invalid_name`, with what is wrong with it. */
export function checkSecretName(name: string): void {
  if (!NAME.test(name)) {
    throw new ApiError('invalid_name', {
      param: 'name',
      message:
        `A secret is named as an environment variable is: a letter or \`_\`, then letters, digits and \`_\`, at most ` +
        `${MAX_NAME_LENGTH} characters.`,
    });
  }
  if (!REFUSED_NAMES.has(name) && !REFUSED_FAMILIES.test(name)) return;
  throw new ApiError('invalid_name', {
    param: 'name',
    message: `\`${name}\` decides how programs are loaded or run, so no secret may have that name. Choose another one.`,
  });
}

/** Throws `secret_required` and `invalid_request`. */
export function checkSecretValue(value: string): void {
  if (value === '') throw new ApiError('secret_required', { param: 'value' });
  if (value.includes('\0')) {
    throw new ApiError('invalid_request', {
      param: 'value',
      message: '`value` contains a NUL, which no environment variable can hold.',
    });
  }
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) {
    throw new ApiError('invalid_request', {
      param: 'value',
      message: `\`value\` must have at most ${MAX_VALUE_BYTES} bytes in UTF-8.`,
    });
  }
}
