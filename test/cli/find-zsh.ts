/** Where the zsh of this machine is, whose completion is tested where there is one. */
import { installLine, installPackage, mayInstall } from "../apt.ts";
import { findProgram } from "../find-program.ts";

/** Installs zsh where there is none and we may; elsewhere its test is skipped, and says why. */
export function ensureZsh(): void {
  if (findZsh() === undefined && mayInstall()) installPackage("zsh");
}

/** The path of zsh. */
export function findZsh(): string | undefined {
  return findProgram("zsh");
}

/** Why a test that needs zsh is skipped. */
export const WITHOUT_ZSH: string = `zsh is not there. Install it: ${installLine("zsh")}`;
