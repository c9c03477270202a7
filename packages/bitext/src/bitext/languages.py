"""Language codes: any code of a language to the code that the rules know it by, and which code of a file is meant."""

import re
from collections.abc import Collection
from functools import cache

TWO_LETTERS = {
    three: line.split()[0]
    for line in """
    aa aar; ab abk; ae ave; af afr; ak aka twi fat; am amh; an arg; ar ara arb ary arz apc apd ars acm acq aeb ajp ayl afb abh
    as asm; av ava; ay aym ayr ayc; az aze azj azb; ba bak; be bel; bg bul; bh bih; bi bis; bm bam; bn ben; bo bod tib; br bre
    bs bos; ca cat; ce che; ch cha; co cos; cr cre crk cwd; cs ces cze; cu chu; cv chv; cy cym wel; da dan; de deu ger
    dv div; dz dzo; ee ewe; el ell gre; en eng; eo epo; es spa; et est ekk; eu eus baq; fa fas per pes prs
    ff ful fuv fuf; fi fin; fj fij; fo fao; fr fra fre; fy fry; ga gle; gd gla; gl glg; gn grn gug; gu guj; gv glv
    ha hau; he heb iw; hi hin; ho hmo; hr hrv; ht hat; hu hun; hy hye arm; hz her; ia ina; id ind in; ie ile; ig ibo
    ii iii; ik ipk; io ido; is isl ice; it ita; iu iku ike; ja jpn; jv jav jw; ka kat geo; kg kon kng; ki kik; kj kua
    kk kaz; kl kal; km khm; kn kan; ko kor; kr kau knc; ks kas; ku kur kmr; kv kom kpv; kw cor; ky kir; la lat; lb ltz
    lg lug; li lim; ln lin; lo lao; lt lit; lu lub; lv lav lvs; mg mlg plt; mh mah; mi mri mao; mk mkd mac; ml mal
    mn mon khk; mr mar; ms msa may zsm zlm; mt mlt; my mya bur; na nau; nb nob; nd nde; ne nep npi; ng ndo; nl nld dut
    nn nno; no nor; nr nbl; nv nav; ny nya; oc oci; oj oji ojb; om orm gaz; or ori ory; os oss; pa pan; pi pli; pl pol
    ps pus pbt pbu; pt por; qu que quy quz; rm roh; rn run; ro ron rum mo; ru rus; rw kin; sa san; sc srd sro; sd snd
    se sme; sg sag; sh hbs; si sin; sk slk slo; sl slv; sm smo; sn sna; so som; sq sqi alb als aln; sr srp scc; ss ssw; st sot
    su sun; sv swe; sw swa swh swc; ta tam; te tel; tg tgk; th tha; ti tir; tk tuk; tl tgl; tn tsn; to ton; tr tur
    ts tso; tt tat; tw twi; ty tah; ug uig; uk ukr; ur urd; uz uzb uzn uzs; ve ven; vi vie; vo vol; wa wln; wo wol
    xh xho; yi yid ydd ji; yo yor; za zha; zh zho chi cmn yue wuu nan hak hsn gan cdo cjy cpx czh czo mnp lzh; zu zul
    """.replace("\n", ";").split(";")
    if line.strip()
    for three in line.split()[1:]
}
"""ISO 639-1 of ISO 639-2 codes (both of those that have two), of ISO 639-3 codes of members of a language, and of
withdrawn codes."""

UNSPACED = frozenset(
    {"zh", "ja", "th", "lo", "km", "my", "bo", "dz", "shn", "mnw", "nod", "tts", "sou", "kxm"}
)
"""Languages that are written without spaces between words."""
UNSPACED_SCRIPTS = frozenset({
    "hani", "hans", "hant", "jpan", "hira", "kana", "hrkt", "thai", "laoo", "khmr", "mymr", "tibt", "lana", "tale", "talu",
})  # fmt: skip
"""ISO 15924 codes of scripts without spaces between words."""

NAMES = {
    "arabic": "ar", "bulgarian": "bg", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
    "estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "indonesian": "id", "italian": "it", "japanese": "ja", "korean": "ko", "latvian": "lv",
    "lithuanian": "lt", "mandarin": "zh", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "slovak": "sk", "slovene": "sl", "spanish": "es", "swedish": "sv", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi", "cn": "zh", "cz": "cs", "dk": "da", "gb": "en", "gr": "el", "jp": "ja",
    "ua": "uk", "us": "en",
}  # fmt: skip
"""English names of languages, and codes of countries that are taken for those of their languages."""


def base_language(code: str) -> str:
    """Return the language of a code of any form, without script and region.

    ``zh`` of ``zh-TW``, ``zho_Hans``, ``cmn`` and ``yue``: the two letters of ISO 639-1 if the language has them, else
    the code's first part.
    """
    first = re.split("[-_]", code, maxsplit=1)[0].lower()
    return TWO_LETTERS.get(first, first)


@cache
def language_names(code: str) -> frozenset[str]:
    """Return what a column or file of a language is called: its code, also without script and region, and its names."""
    base = base_language(code)
    names = (name for table in (TWO_LETTERS, NAMES) for name, language in table.items() if language == base)
    return frozenset({code.casefold().replace("_", "-"), base, *(name for name in names if len(name) > 2)})


def nearest(found: Collection[str], wanted: str) -> list[str]:
    """Return which codes of a file are of the wanted language and nearest to it: pt-BR of pt-PT and pt-BR.

    Script and region are the same, or else given on one side only, or else others.
    """
    parts = {code: set(re.split("[-_]", code.casefold())[1:]) for code in (*found, wanted)}
    distances = {
        code: 0 if own == parts[wanted] else 1 if own <= parts[wanted] or parts[wanted] <= own else 2
        for code, own in parts.items()
        if code in found and language_names(code) & language_names(wanted)
    }
    return [code for code, distance in distances.items() if distance == min(distances.values())]


def is_unspaced(code: str) -> bool:
    """Return whether a language is written without spaces between words: by the script of its code, else by the language."""
    script = next(
        (part for part in re.split("[-_]", code.lower())[1:] if re.fullmatch("[a-z]{4}", part)), None
    )
    return base_language(code) in UNSPACED if script is None else script in UNSPACED_SCRIPTS
