import type { Session } from "../../../shared/api/contract";
import { useT } from "../../../shared/i18n";
import { clock, decimal, money } from "../../../shared/i18n/format";
import { useOnAirSeconds, useRoom } from "./room";

/** What the engine measures, once a second. A value it does not know says so; it is never shown as zero. */
export function Tiles({ session }: { session: Session }) {
  const { t, tCode, lang } = useT();
  const metrics = useRoom((room) => room.snapshot?.metrics);
  const onAir = useOnAirSeconds(session);
  const shown = (value: number | undefined, words: (n: string) => string, digits = 0): string =>
    value === undefined || value === -1 || Number.isNaN(value) ? t("notMeasured") : words(decimal(value, lang, digits));
  const ms = (n: string) => t("unit.ms", { n });
  const cpu = Object.entries(metrics?.cpu_percent ?? {});
  const late = metrics?.late_frames;
  return (
    <section className="lh-card lh-measurements" aria-labelledby="tiles-title">
      <h2 id="tiles-title">{t("tile.title")}</h2>
      <dl className="lh-tiles">
        <Tile
          label={t("tile.fps")}
          value={shown(metrics?.fps, (n) => t("unit.fps", { n }), 1)}
          note={late !== undefined && late >= 0 ? t("tile.late", { n: decimal(late, lang) }) : undefined}
        />
        <Tile label={t("tile.av")} value={shown(metrics?.av_offset_ms, ms)} />
        <Tile
          label={t("tile.firstWord")}
          value={shown(metrics?.first_word_ms, ms)}
          note={
            metrics?.first_word_p50_ms !== undefined && metrics.first_word_p50_ms >= 0
              ? t("tile.firstWord.p", {
                  p50: shown(metrics.first_word_p50_ms, ms),
                  p99: shown(metrics.first_word_p99_ms, ms),
                })
              : undefined
          }
        />
        <Tile label={t("tile.queue")} value={shown(metrics?.inbox, (n) => n)} />
        <Tile
          label={t("tile.buffered")}
          value={shown(
            metrics?.buffered_ms === undefined || metrics.buffered_ms < 0 ? undefined : metrics.buffered_ms / 1000,
            (n) => t("unit.s", { n }),
            1,
          )}
        />
        <Tile label={t("tile.viewers")} value={shown(metrics?.viewers, (n) => n)} />
        <Tile label={t("tile.bitrate")} value={shown(metrics?.bitrate_kbps, (n) => t("unit.kbps", { n }))} />
        <Tile label={t("tile.frame")} value={shown(metrics?.frame_ms, ms, 1)} />
        <Tile
          label={t("tile.onAir")}
          value={clock(onAir)}
          note={t("tile.billable", { time: clock(metrics?.billable_s ?? session.billable_s) })}
        />
        <Tile label={t("tile.cost")} value={money(metrics?.cost_minor ?? session.cost_minor, session.currency, lang)} />
        <div className="lh-tile lh-tile-wide">
          <dt>{t("tile.cpu")}</dt>
          <dd>
            {cpu.length === 0
              ? t("notMeasured")
              : cpu.map(([name, percent]) => (
                  <span key={name} className="lh-cpu">
                    <span>{tCode("process", name)}</span>
                    <meter min={0} max={200} value={percent} aria-label={tCode("process", name)} />
                    <span className="lh-num">{t("unit.percent", { n: decimal(percent, lang) })}</span>
                  </span>
                ))}
          </dd>
        </div>
        <div className="lh-tile lh-tile-wide">
          <dt>{t("tile.gpu")}</dt>
          <dd className="lh-tile-text">
            {metrics === undefined ? t("notMeasured") : metrics.gpu || t("tile.gpu.none")}
          </dd>
        </div>
      </dl>
    </section>
  );
}

function Tile({ label, value, note }: { label: string; value: string; note?: string }) {
  return (
    <div className="lh-tile">
      <dt>{label}</dt>
      <dd className="lh-num">
        {value}
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  );
}
